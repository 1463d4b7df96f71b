#include "engine/rdma/lane_memory.h"

#include <bit>

#include "engine/rdma/poller.h"

namespace hat::engine {
namespace {

constexpr uint32_t kNoteReceives = 8;  // credits and the like that one side may have on its way

size_t bytes_of(const LaneShape& shape) { return size_t{shape.slots} * stride(shape); }

// As a buddy hands it out: so many of these fit a part of a power of two in any order.
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
      {"notes", Purpose::kSend, size_t{options.send_entries} * kNoteBytesMax},
      {"windows", Purpose::kReceive, row(in.leg).window ? bytes_of(in) : 0},
      {"indexes", Purpose::kSend, size_t{out.slots} * row(out.leg).sender_extra},
      {"bitmaps", Purpose::kSend, size_t{in.slots} * row(in.leg).receiver_extra},
      {"scratch", Purpose::kControl, scratch},
  }};
}

uint32_t receives_of(const RdmaLaneOptions& options) {
  return options.in.slots + 2 * kRendezvousMax + kNoteReceives;
}

ArenaPlan arena_for(std::span<const LanePlan> plans, size_t message_bytes) {
  ArenaPlan made;
  std::array<size_t, kPurposes> blocks{};
  uint64_t receives = Poller::kPostBatch;
  for (const LanePlan& plan : plans) {
    for (const LanePiece& piece : pieces_of(plan.options)) {
      made.need.add(piece.what, plan.lanes, block(piece.bytes));
      blocks[static_cast<size_t>(piece.purpose)] += plan.lanes * block(piece.bytes);
    }
    const uint64_t messages = uint64_t{plan.lanes} * kRendezvousMax;
    for (const Purpose purpose : {Purpose::kReceive, Purpose::kSend}) {
      made.need.add("rendezvous buffers", messages, block(message_bytes));
      blocks[static_cast<size_t>(purpose)] += messages * block(message_bytes);
    }
    receives += uint64_t{plan.lanes} * receives_of(plan.options);
  }
  const uint64_t receive_blocks =
      (receives + Poller::kReceivesPerBlock - 1) / Poller::kReceivesPerBlock;
  const size_t receive_block = block(size_t{Poller::kReceivesPerBlock} * kReceiveBytes);
  made.need.add("blocks of receives", receive_blocks, receive_block);
  blocks[static_cast<size_t>(Purpose::kControl)] += receive_blocks * receive_block;
  for (size_t i = 0; i < kPurposes; ++i) {
    made.arena.bytes[i] = std::bit_ceil(std::max(blocks[i], Arena::kGranuleBytes));
    made.need.add("rounding", 1, made.arena.bytes[i] - blocks[i]);
  }
  return made;
}

}  // namespace hat::engine
