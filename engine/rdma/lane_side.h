// SPDX-License-Identifier: Apache-2.0
// engine/rdma/lane_side.h: for tests: one side of an RDMA lane, with its fabric, arena and poller.
// The side answers calls and keeps the frames that it receives.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

inline constexpr ArenaOptions kTestArena{.bytes = {8 << 20, 8 << 20, 4 << 20}};

// Returns test data: `bytes` bytes whose values depend on `number`, on `bytes` and on their offset.
std::vector<std::byte> pattern(uint64_t number, size_t bytes);

struct Frame {
  FrameHeader header;
  std::vector<std::byte> payload;
  Leg leg;  // the leg that carried the frame
};

class LaneSide final : public LaneEvents {
 public:
  explicit LaneSide(OpenFabric open, const ArenaOptions& arena = kTestArena);

  void make_lane(const RdmaLaneOptions& options);
  // Handles the fabric's events, polls and flushes. Returns the result of Poller::poll(), which is
  // the number of events that it found.
  size_t iterate();

  uint64_t call(uint64_t number, size_t bytes, uint16_t replies = 1);
  void answer(uint64_t number, const std::vector<std::byte>& payload);

  // Handles a received call that expects a reply. If `on_call` is not set, the side replies with
  // the call's payload.
  std::function<void(const FrameHeader&, Bytes)> on_call;
  // Returns the memory for the payload of a frame that the lane READs. If it is not set, the lane
  // READs all payloads into its buffers.
  std::function<Landing(const FrameHeader&, bool is_next)> on_landing;
  bool keeps = true;  // true if `frames` must keep each received frame
  std::vector<Frame> frames;
  uint64_t frame_count = 0;
  std::vector<uint64_t> returned;
  std::vector<std::string> down;  // the reasons given to on_down()

  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Poller> poller;
  std::unique_ptr<RdmaLane> lane;

 private:
  void on_frame(const FrameHeader& header, Bytes payload) override;
  Landing landing_for(const FrameHeader& header, bool is_next) override {
    return on_landing ? on_landing(header, is_next) : Landing();
  }
  void on_returned(uint64_t number) override { returned.push_back(number); }
  void on_down(const std::string& reason) override { down.push_back(reason); }
};

// Returns the shape with which `protocol` sends calls, or, if `answers` is true, replies.
LaneShape shape_of(const Protocol& protocol, bool answers, uint32_t slot_bytes = 1024,
                   uint16_t slots = 16);

// Creates a lane on each side and connects the two. `client` is the side that calls.
void join(LaneSide& client, LaneSide& server, RdmaLaneOptions options);
RdmaLaneOptions options_for(const Protocol& requests, const Protocol& responses);

}  // namespace hat::engine
