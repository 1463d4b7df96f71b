// SPDX-License-Identifier: Apache-2.0
// daemon/process/rdma_link_conformance.h: tests that every fabric must pass. Two processes run an
// event loop each, with a link between them and RDMA lanes.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "daemon/reactor/libevent_reactor.h"
#include "engine/link/lane_set.h"

namespace hat {

// Opens a fabric for the server's process if `server` is true, else for the client's.
using OpenFabricOf = Result<std::unique_ptr<engine::Fabric>> (*)(bool server);

engine::LaneSetOptions quick_lane_options();
inline constexpr engine::LaneShape kTestShape{
    .leg = engine::Leg::kWriteImm, .slots = 16, .slot_bytes = 1024};

// One end of the link: the code that the client's process and the server's process both use.
class LinkNode : public engine::SessionEvents,
                 public engine::LaneSetEvents,
                 private IterationEvents {
 public:
  LinkNode(OpenFabricOf open, bool server, const engine::ArenaOptions& arena);
  ~LinkNode() override;

  void begin(engine::Session::Role role, const engine::OpenStream& open);
  // Runs iterations until `holds` returns true. Returns false if `at_most` passes first.
  bool until(const std::function<bool()>& holds, Duration at_most = std::chrono::seconds(60));

  LibeventReactor reactor;
  std::unique_ptr<engine::RdmaHost> host;
  std::unique_ptr<engine::Session> session;
  std::unique_ptr<engine::LaneSet> lanes;
  bool link_up = false;
  std::string link_down;  // the reason, if the link went down
  uint32_t lane_up = 0;   // the last lane that came up
  std::vector<std::string> lanes_down;
  std::map<uint64_t, size_t> answers;     // call number to bytes of its correct answer
  std::map<uint64_t, uint64_t> calls;     // call number to the message's number on its lane
  std::atomic<uint64_t>* seen = nullptr;  // in the server: the last call that arrived
  engine::LaneSetOptions lane_options = quick_lane_options();
  std::map<uint64_t, engine::Fate> fates;  // of calls without an answer, when their lane went down

 protected:
  Result<void> on_hello(engine::Session&) override { return {}; }
  void on_session_up(engine::Session&) override { link_up = true; }
  void on_frame(engine::Session&, const engine::FrameHeader&, engine::Bytes) override {}
  void on_session_down(engine::Session&, const std::string& reason) override;
  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override {
    return wish.back;
  }
  void on_lane_up(engine::LaneSet&, uint32_t lane) override { lane_up = lane; }
  void on_lane_message(engine::LaneSet& set, uint32_t lane, const engine::FrameHeader& header,
                       engine::Bytes payload, engine::Leg leg) override;
  void on_lane_down(engine::LaneSet& set, uint32_t lane, bool was_up,
                    const std::string& reason) override;

 private:
  void on_iteration_end() override;
  bool server_;
};

class RdmaLink : public testing::TestWithParam<OpenFabricOf> {
 protected:
  static constexpr engine::ArenaOptions kArena{.bytes = {4 << 20, 4 << 20, 4 << 20}};
  RdmaLink();
  ~RdmaLink() override;

  // Starts a server in another process and a client in this process, and waits until the link is
  // up.
  void start(const engine::ArenaOptions& server_arena = kArena,
             Duration idle_timeout = quick_lane_options().idle_timeout);
  void kill_server();
  uint32_t open_lane(engine::LaneShape back = kTestShape);
  // Checks for calls 1 to `count` that their fates agree with the calls that the server has
  // received and answered.
  void expect_true_fates(uint64_t count) const;
  void call(uint64_t first, uint64_t count, const std::function<size_t(uint64_t)>& bytes_of);

  std::unique_ptr<LinkNode> client_;
  pid_t server_ = -1;
  std::atomic<uint64_t>* seen_ = nullptr;  // in memory that the server's process shares
};

}  // namespace hat
