// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/lane_memory.h"

#include <bit>

#include "engine/rdma/poller.h"

namespace hat::engine {
namespace {

// The receives for all control messages in flight that receives_of() does not count separately,
// such as credits.
constexpr uint32_t kControlReceives = 8;

// Returns the size of the block that the arena (a buddy allocator) hands out for `bytes` bytes.
// Blocks of such sizes, in any order, fit into memory whose size is a power of two and at least
// their sum.
size_t block(size_t bytes) {
  return bytes == 0 ? 0 : std::bit_ceil(std::max(bytes, Arena::kGranuleBytes));
}

}  // namespace

std::array<LanePiece, kLanePieces> pieces_of(const RdmaLaneOptions& options) {
  const LaneShape& out = options.out;
  const LaneShape& in = options.in;
  const size_t scratch =
      size_t{out.slots} * row(out.leg).scratch + size_t{in.slots} * row(in.leg).scratch;
  return {{
      {"slots", Purpose::kSend, bytes_of(out)},
      {"control messages", Purpose::kSend, size_t{options.send_entries} * kControlBytesMax},
      {"windows", Purpose::kReceive, row(in.leg).window ? bytes_of(in) : 0},
      {"indexes", Purpose::kSend, size_t{out.slots} * row(out.leg).sender_extra},
      {"bitmaps", Purpose::kSend, size_t{in.slots} * row(in.leg).receiver_extra},
      {"scratch", Purpose::kControl, scratch},
  }};
}

uint32_t receives_of(const RdmaLaneOptions& options) {
  const uint32_t credits = options.confirm_each ? options.out.slots : 0;
  return options.in.slots + 2 * kRendezvousMax + kControlReceives + credits;
}

ArenaPlan arena_for(std::span<const LanePlan> plans, size_t message_bytes) {
  ArenaPlan made;
  std::array<size_t, kPurposes> blocks{};
  size_t messages = 0;
  uint64_t receives = Poller::kSlack;
  for (const LanePlan& plan : plans) {
    for (const LanePiece& piece : pieces_of(plan.options)) {
      made.need.add(piece.what, plan.lanes, block(piece.bytes));
      blocks[static_cast<size_t>(piece.purpose)] += plan.lanes * block(piece.bytes);
    }
    messages += size_t{plan.lanes} * kRendezvousMax;
    receives += uint64_t{plan.lanes} * receives_of(plan.options);
  }
  const uint64_t receive_blocks =
      (receives + Poller::kReceivesPerBlock - 1) / Poller::kReceivesPerBlock;
  const size_t receive_block = block(size_t{Poller::kReceivesPerBlock} * kReceiveBytes);
  made.need.add("blocks of receives", receive_blocks, receive_block);
  blocks[static_cast<size_t>(Purpose::kControl)] += receive_blocks * receive_block;
  const size_t message_part = std::bit_ceil(std::max<size_t>(messages, 1) * block(message_bytes));
  made.need.add("messages, both ways", 2, message_part);
  for (size_t i = 0; i < kPurposes; ++i) {
    const size_t lanes = std::bit_ceil(std::max(blocks[i], 2 * Arena::kGranuleBytes));
    const bool has_messages = i < made.arena.messages.size();
    made.arena.bytes[i] = lanes + (has_messages ? message_part : 0);
    if (has_messages) made.arena.messages[i] = message_part;
    made.need.add("rounding", 1, lanes - blocks[i]);
  }
  return made;
}

}  // namespace hat::engine
