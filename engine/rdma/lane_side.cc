// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/lane_side.h"

#include <cstring>
#include <stdexcept>

namespace hat::engine {
namespace {

template <class T>
T must(Result<T> result) {
  if (!result) throw std::runtime_error(result.error().message);
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

}  // namespace

std::vector<std::byte> pattern(uint64_t number, size_t bytes) {
  std::vector<std::byte> made(bytes);
  uint64_t word = number * 0x9e3779b97f4a7c15 + bytes;
  for (size_t i = 0; i < bytes; i += sizeof word) {
    word = word * 6364136223846793005 + 1442695040888963407;
    std::memcpy(made.data() + i, &word, std::min(sizeof word, bytes - i));
  }
  return made;
}

LaneSide::LaneSide(OpenFabric open, const ArenaOptions& options)
    : fabric(must(open())),
      arena(must(Arena::create(*fabric, options))),
      poller(must(Poller::create(*fabric, *arena))) {}

void LaneSide::make_lane(const RdmaLaneOptions& options) {
  lane = must(RdmaLane::create(*poller, options, *this));
}

size_t LaneSide::iterate() {
  while (const auto event = fabric->next_event()) poller->on_event(*event);
  const size_t found = poller->poll();
  if (lane) lane->flush();
  return found;
}

uint64_t LaneSide::call(uint64_t number, size_t bytes, uint16_t replies) {
  const std::vector<std::byte> payload = pattern(number, bytes);
  const FrameHeader header{.kind = FrameKind::kCall,
                           .flags = kLastPiece,
                           .replies = replies,
                           .stream = 1,
                           .call = number};
  return lane->send(header, {payload});
}

void LaneSide::answer(uint64_t number, const std::vector<std::byte>& payload) {
  lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = number},
             {payload});
}

void LaneSide::on_frame(const FrameHeader& header, Bytes payload) {
  ++frame_count;
  if (keeps) {
    frames.push_back({header, {payload.begin(), payload.end()}, lane->leg_of_delivery()});
  }
  if (header.kind != FrameKind::kCall || header.replies == 0) return;
  if (on_call) return on_call(header, payload);
  lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
             {payload});
}

LaneShape shape_of(const Protocol& protocol, bool answers, uint32_t slot_bytes, uint16_t slots) {
  return {.leg = answers ? protocol.response : protocol.request,
          .beyond = protocol.beyond,
          .slots = slots,
          .slot_bytes = slot_bytes};
}

RdmaLaneOptions options_for(const Protocol& requests, const Protocol& responses) {
  RdmaLaneOptions options;
  options.out = shape_of(requests, false);
  options.in = shape_of(responses, true);
  options.rendezvous.chunk_bytes = 64 * 1024;
  options.rnr_retries = 0;  // credits must ensure that a receive is always posted
  // The time-out is long, because the lab's devices are emulated on cores that other processes also
  // use.
  options.ack_timeout = std::chrono::milliseconds(500);
  return options;
}

void join(LaneSide& client, LaneSide& server, RdmaLaneOptions options) {
  client.make_lane(options);
  std::swap(options.out, options.in);
  server.make_lane(options);
  must(client.lane->connect(server.lane->offer()));
  must(server.lane->connect(client.lane->offer()));
}

}  // namespace hat::engine
