// SPDX-License-Identifier: Apache-2.0
// engine/rdma/sleepers_test.cc: tests for every protocol that no wake-up is lost: two threads each
// sleep until a message of the other thread arrives. A sleep of kBound or more fails the test.
#include <gtest/gtest.h>

#include <thread>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/fabric/sleep.h"
#include "engine/rdma/lane_side.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;

constexpr auto kBound = 10s;

// Polls, and sleeps when a poll finds nothing, until `holds()` returns true. Returns false if a
// sleep lasts kBound.
template <class Holds>
bool sleep_until(LaneSide& side, const Holds& holds) {
  while (!holds()) {
    if (side.iterate() != 0 || !side.poller->prepare_to_sleep()) continue;
    if (holds()) return true;
    const bool woken = sleep_on({side.poller->event_fd(), side.fabric->event_fd()}, kBound);
    side.poller->take_events();
    if (!woken) return false;
  }
  return true;
}

// Sends the last message, and polls until the other side has woken (`woken` is true). Polling is
// necessary, because the other side can send a control message before it sleeps, and can need an
// answer to that control message in order to wake.
void wake_until(LaneSide& side, RdmaLane& lane, const std::atomic<bool>& woken) {
  lane.send({.kind = FrameKind::kCredit, .stream = 1}, {});
  lane.flush();
  while (!woken) {
    side.iterate();
    std::this_thread::yield();
  }
}

class Sleepers : public testing::TestWithParam<size_t> {
 protected:
  static RdmaLaneOptions options() {
    const Protocol& protocol = kProtocols[GetParam()];
    RdmaLaneOptions options = options_for(protocol, protocol);
    options.fetch = {.empty_polls_max = 4, .pushes_until_again = 8};
    options.bitmap.empty_polls_max = 4;
    return options;
  }
};

TEST_P(Sleepers, AreAlwaysWoken) {
  constexpr uint64_t kCalls = 400;
  LaneSide client(&open_loop_fabric);
  LaneSide server(&open_loop_fabric);
  client.keeps = server.keeps = false;
  join(client, server, options());
  std::atomic<bool> done = false, served = false;
  std::thread serving([&] {
    EXPECT_TRUE(sleep_until(server, [&] { return done.load(); }))
        << "nobody woke the server after " << server.frame_count << " calls";
    served = true;
  });
  for (uint64_t call = 1; call <= kCalls; ++call) {
    client.call(call, call % 10 == 0 ? 9000 : 100);
    client.lane->flush();
    // Polls for some replies instead of sleeping, so that the server goes to sleep at many
    // different moments.
    if (call % 3 == 0) {
      for (int i = 0; i < 50; ++i) client.iterate();
    }
    const bool came = sleep_until(client, [&] { return client.frame_count == call; });
    EXPECT_TRUE(came) << "nobody woke the client for answer " << call;
    if (!came) break;
  }
  done = true;
  wake_until(client, *client.lane, served);
  serving.join();
}

// Tests two lanes of one poller that share the buffer for one message: each lane must wait until
// the other lane frees the buffer.
TEST_P(Sleepers, OfTwoLanesShareOneBuffer) {
  const ArenaOptions arena{.bytes = {384 << 10, 384 << 10, 4 << 20},
                           .messages = {128 << 10, 128 << 10}};
  LaneSide client(&open_loop_fabric, arena);
  LaneSide server(&open_loop_fabric, arena);
  client.keeps = server.keeps = false;
  struct Counter final : LaneEvents {
    void on_frame(const FrameHeader& header, Bytes payload) override {
      ++frames;
      if (!answers || header.kind != FrameKind::kCall) return;
      lane->send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
                 {payload});
    }
    void on_down(const std::string& why) override { ADD_FAILURE() << why; }
    RdmaLane* lane = nullptr;
    bool answers = false;
    uint64_t frames = 0;
  };
  std::array<Counter, 4> ends;
  std::array<std::unique_ptr<RdmaLane>, 4> lanes;  // client's, server's, client's, server's
  for (size_t i = 0; i < 4; ++i) {
    LaneSide& side = i % 2 == 0 ? client : server;
    RdmaLaneOptions one = options();
    one.out.slots = one.in.slots = 8;
    if (i % 2 == 1) std::swap(one.out, one.in);
    auto made = RdmaLane::create(*side.poller, one, ends[i]);
    ASSERT_TRUE(made) << made.error().message;
    lanes[i] = std::move(*made);
    ends[i].lane = lanes[i].get();
    ends[i].answers = i % 2 == 1;
    if (i % 2 == 0) continue;
    ASSERT_TRUE(lanes[i - 1]->connect(lanes[i]->offer()));
    ASSERT_TRUE(lanes[i]->connect(lanes[i - 1]->offer()));
  }
  constexpr uint64_t kCalls = 60;
  const auto payload = pattern(1, 100'000);
  for (uint64_t call = 1; call <= kCalls; ++call) {
    for (const size_t i : {0u, 2u}) {
      ends[i].lane->send(
          {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = call},
          {payload});
    }
  }
  std::atomic<bool> done = false, served = false;
  std::thread serving([&] {
    EXPECT_TRUE(sleep_until(server, [&] { return done.load(); }));
    served = true;
  });
  EXPECT_TRUE(
      sleep_until(client, [&] { return ends[0].frames == kCalls && ends[2].frames == kCalls; }))
      << ends[0].frames << " and " << ends[2].frames << " of " << kCalls;
  done = true;
  wake_until(client, *ends[0].lane, served);
  serving.join();
}

INSTANTIATE_TEST_SUITE_P(Loop, Sleepers, testing::Range(size_t{0}, kProtocols.size()),
                         [](const auto& row) { return std::string(kProtocols[row.param].name); });

}  // namespace
}  // namespace hat::engine
