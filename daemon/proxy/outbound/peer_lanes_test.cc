// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes_test.cc: tests in which cases an RDMA lane that ends has failed,
// and which lanes exist for trials.
//
// The test also plays the peer, with a fabric of its own, and can destroy the peer's lanes as the
// end of the peer's process would.
#include "daemon/proxy/outbound/peer_lanes.h"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <utility>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/plan/ability.h"
#include "tests/fake_reactor.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using engine::FrameKind;

constexpr engine::ArenaOptions kArena{.bytes = {4 << 20, 4 << 20, 4 << 20}};

std::unique_ptr<engine::RdmaHost> make_host(Reactor& reactor) {
  auto host = engine::RdmaHost::create(reactor, *engine::open_loop_fabric(), {.arena = kArena});
  EXPECT_TRUE(host) << host.error().message;
  return std::move(*host);
}

struct QuietSession final : engine::SessionEvents {
  Result<void> on_hello(engine::Session&) override { return {}; }
  void on_session_up(engine::Session&) override {}
  void on_frame(engine::Session&, const engine::FrameHeader&, engine::Bytes) override {}
  void on_session_down(engine::Session&, const std::string&) override {}
};

// The peer's side, which accepts every lane by default, and sends no messages.
struct FarLanes final : engine::LaneSetEvents {
  Result<engine::LaneShape> on_lane_wanted(const engine::LaneWish& wish) override {
    if (refuses) {
      ++refused;
      return fail(ErrorCode::kExhausted, "no memory");
    }
    return wish.back;
  }
  void on_lane_up(engine::LaneSet&, uint32_t) override {}
  void on_lane_message(engine::LaneSet&, uint32_t, const engine::FrameHeader&, engine::Bytes,
                       engine::Leg) override {}
  void on_lane_down(engine::LaneSet&, uint32_t, bool, const std::string&) override {}

  bool refuses = false;
  uint64_t refused = 0;
};

class PeerLanesTest : public testing::Test, public PeerLanesEvents {
 protected:
  PeerLanesTest() {
    until([&] { return near_->up() && far_->up(); });
    lanes_ = std::make_unique<PeerLanes>(reactor_, *near_host_, *near_, 5s, *this);
    far_lanes_ =
        std::make_unique<engine::LaneSet>(reactor_, *far_host_, engine::Session::Role::kAcceptor,
                                          far_->lane(), engine::LaneSetOptions{}, far_events_);
    far_->set_lanes(far_lanes_.get());
    until([&] { return lanes_->choose(key_, 0).lane != 0; });
  }

  std::unique_ptr<engine::Session> session(engine::Session::Role role, const char* node,
                                           const char* peer) {
    const engine::OpenStream open = [&](StreamEvents& events) {
      return reactor_.connect(Address{}, events);
    };
    return std::make_unique<engine::Session>(reactor_, role,
                                             engine::SessionOptions{.node = node,
                                                                    .peer = peer,
                                                                    .generation = 1,
                                                                    .legs = engine::kAllLegs,
                                                                    .handshake_timeout = 1h,
                                                                    .keepalive_interval = 1h,
                                                                    .keepalive_timeout = 1h},
                                             open, quiet_);
  }
  // Delivers what each side has written to the other side, and polls the lanes of both sides.
  void turn() {
    if (lanes_) lanes_->flush();
    if (far_lanes_) far_lanes_->flush();
    near_->lane().flush();
    far_->lane().flush();
    for (const auto& [from, to] : {std::pair(0, 1), std::pair(1, 0)}) {
      FakeStream::Wire& wire = *reactor_.wires[static_cast<size_t>(to)];
      wire.incoming += std::exchange(reactor_.wires[static_cast<size_t>(from)]->written, "");
      if (!wire.incoming.empty()) wire.notify_readable();
    }
    for (engine::RdmaHost* host : {near_host_.get(), far_host_.get()}) {
      if (host == nullptr) continue;
      host->take_fabric_events();
    }
    reactor_.end_iteration();
  }
  void until(const std::function<bool()>& holds) {
    for (int turns = 0; turns < 10'000 && !holds(); ++turns) turn();
    EXPECT_TRUE(holds());
  }
  // Destroys the peer's lanes without a frame on the link, as the end of its process does.
  void far_process_ends() {
    far_lanes_.reset();
    far_host_.reset();
    until([&] { return lanes_->status().at(0).state != "up"; });
  }

  void on_lane_frame(const engine::FrameHeader&, engine::Bytes, FrameSource) override {}
  engine::Landing on_lane_landing(uint32_t, const engine::FrameHeader&, bool) override {
    return {};
  }
  bool has_clients(const std::vector<size_t>&) const override { return true; }
  bool has_streams(uint32_t lane) const override { return lane == lane_with_stream_; }
  void on_lane_closing(uint32_t) override {}
  void on_lane_lost(uint32_t, const std::string& reason) override {
    lost_.push_back(reason);
    if (on_lost_) on_lost_();
  }
  void on_lane_failed(const LaneKey& key) override { failed_.push_back(key); }
  void on_lane_returned(uint32_t, uint64_t) override {}
  void on_lane_gone(uint32_t) override {}
  void on_domain_gone() override {}

  uint32_t lane_with_stream_ = 0;
  std::function<void()> on_lost_;
  std::vector<LaneKey> failed_;
  FakeReactor reactor_;
  QuietSession quiet_;
  FarLanes far_events_;
  const LaneKey key_{.request = *engine::find_protocol("direct_write_imm"),
                     .response = *engine::find_protocol("direct_write_imm"),
                     .request_slot_bytes = 4096,
                     .response_slot_bytes = 4096};
  std::unique_ptr<engine::RdmaHost> near_host_ = make_host(reactor_);
  std::unique_ptr<engine::RdmaHost> far_host_ = make_host(reactor_);
  std::unique_ptr<engine::Session> near_ = session(engine::Session::Role::kInitiator, "a", "b");
  std::unique_ptr<engine::Session> far_ = session(engine::Session::Role::kAcceptor, "b", "");
  std::unique_ptr<engine::LaneSet> far_lanes_;
  std::unique_ptr<PeerLanes> lanes_;
  std::vector<std::string> lost_;
};

TEST_F(PeerLanesTest, ALaneThatVanishesHasFailed) {
  far_process_ends();
  EXPECT_EQ(lanes_->status().at(0).failures, 1u);
  EXPECT_THAT(lanes_->status().at(0).last_error, testing::HasSubstr("queue pair failed"));
}

TEST_F(PeerLanesTest, ALaneThatVanishesWithAPeerThatLeavesHasNotFailed) {
  lanes_->expect_end();
  far_process_ends();
  EXPECT_EQ(lanes_->status().at(0).failures, 0u);
  EXPECT_EQ(lanes_->status().at(0).last_error, "");
  EXPECT_EQ(lost_.size(), 1u) << "streams on it end all the same";
}

TEST_F(PeerLanesTest, ALaneThatVanishesUnderACallHasFailed) {
  const uint32_t lane = lanes_->choose(key_, 0).lane;
  lanes_->lane(lane).send(
      {.kind = FrameKind::kCall, .flags = engine::kLastPiece, .replies = 1, .stream = 1, .call = 1},
      {});
  lanes_->expect_end();
  far_process_ends();
  EXPECT_EQ(lanes_->status().at(0).failures, 1u);
}

// --- Trials ---

using Readiness = TrialLanes::Readiness;

struct PeerLanesTrials : PeerLanesTest {
  LaneKey with_slots(uint32_t bytes) const {
    LaneKey other = key_;
    other.request_slot_bytes = other.response_slot_bytes = bytes;
    return other;
  }
  Readiness prepare(const LaneKey& key) { return lanes_->prepare({&key, 1}, true); }
  // Opens as many lanes for trials as there may be.
  std::vector<LaneKey> open_all() {
    std::vector<LaneKey> keys;
    for (uint32_t bytes = 128; keys.size() < PeerLanes::kTrialLanesMost; bytes *= 2) {
      keys.push_back(with_slots(bytes));
      until([&] { return prepare(keys.back()) == Readiness::kUp; });
      lanes_->choose_for_trial(keys.back());
    }
    return keys;
  }
};

TEST_F(PeerLanesTrials, GetTheirLaneOnceItIsUp) {
  const LaneKey other = with_slots(512);
  EXPECT_EQ(lanes_->choose_for_trial(other).lane, 0u);
  EXPECT_EQ(prepare(other), Readiness::kOpening);
  EXPECT_EQ(lanes_->choose_for_trial(other).lane, 0u);
  until([&] { return prepare(other) == Readiness::kUp; });
  EXPECT_NE(lanes_->choose_for_trial(other).lane, 0u);
  EXPECT_EQ(prepare(key_), Readiness::kUp) << "a lane that calls use";
}

TEST_F(PeerLanesTrials, HaveALimitedNumberOfLanes) {
  const std::vector<LaneKey> keys = open_all();
  EXPECT_EQ(lanes_->status().size(), 1 + PeerLanes::kTrialLanesMost);
  until([&] { return prepare(with_slots(8192)) == Readiness::kUp; });
  EXPECT_EQ(lanes_->status().size(), 1 + PeerLanes::kTrialLanesMost);
  EXPECT_EQ(lanes_->choose_for_trial(keys.front()).lane, 0u) << "the oldest was closed";
  EXPECT_TRUE(lost_.empty());
}

TEST_F(PeerLanesTrials, PrepareTwoLanesForOneWay) {
  open_all();
  const std::array both = {with_slots(64), with_slots(2048)};
  until([&] { return lanes_->prepare(both, true) == Readiness::kUp; });
  EXPECT_EQ(lanes_->status().size(), 1 + PeerLanes::kTrialLanesMost);
}

TEST_F(PeerLanesTrials, LeaveALaneOpenWhileAStreamIsOnIt) {
  const std::vector<LaneKey> keys = open_all();
  lane_with_stream_ = lanes_->choose_for_trial(keys.front()).lane;
  until([&] { return prepare(with_slots(8192)) == Readiness::kUp; });
  EXPECT_EQ(lanes_->choose_for_trial(keys[0]).lane, lane_with_stream_);
  EXPECT_EQ(lanes_->choose_for_trial(keys[1]).lane, 0u) << "the next one was closed instead";
}

TEST_F(PeerLanesTrials, ReserveALaneUntilTheTrialForWhichItWasOpened) {
  const std::vector<LaneKey> keys = open_all();
  for (const LaneKey& key : keys) prepare(key);
  for (int i = 0; i < 100; ++i, turn()) EXPECT_EQ(prepare(with_slots(8192)), Readiness::kOpening);
  reactor_.advance(PeerLanes::kReserved);
  until([&] { return prepare(with_slots(8192)) == Readiness::kUp; });
  EXPECT_EQ(lanes_->status().size(), 1 + PeerLanes::kTrialLanesMost);
}

TEST_F(PeerLanesTrials, MakeRoomOnceForALaneThatCallsNeed) {
  std::vector<LaneKey> keys = open_all();
  prepare(keys.back());
  far_events_.refuses = true;
  const LaneKey wanted = with_slots(8192);
  const auto calls_until = [&](const std::function<bool()>& holds) {
    until([&] {
      lanes_->choose(wanted, 0);
      reactor_.advance(1s);
      return holds();
    });
  };
  calls_until([&] { return lanes_->status().size() == 2; });
  EXPECT_GT(far_events_.refused, 0u);
  far_events_.refuses = false;
  EXPECT_EQ(prepare(keys.front()), Readiness::kUnable);
  reactor_.advance(PeerLanes::kTrialPause);
  keys = open_all();
  far_events_.refuses = true;
  const uint64_t before = far_events_.refused;
  calls_until([&] { return far_events_.refused > before + 5; });
  EXPECT_EQ(lanes_->status().size(), 2 + PeerLanes::kTrialLanesMost) << "that did not help";
}

TEST_F(PeerLanesTrials, BlameNoLaneForTheEndOfTheLink) {
  open_all();
  lanes_->end("the link is down");
  EXPECT_EQ(lost_.size(), 1 + PeerLanes::kTrialLanesMost);
  EXPECT_TRUE(failed_.empty());
}

TEST_F(PeerLanesTrials, MayUseAReleasedLane) {
  lanes_->release(key_);
  open_all();
  EXPECT_EQ(lanes_->status().size(), PeerLanes::kTrialLanesMost) << "it was closed";
}

// A lane fails while the lanes are flushed. Its end lets a call begin, and with it a trial for
// which another lane is closed.
TEST_F(PeerLanesTrials, MayBeginWhileTheLanesAreFlushed) {
  const std::vector<LaneKey> keys = open_all();
  on_lost_ = [this] { prepare(with_slots(8192)); };
  far_process_ends();
  EXPECT_FALSE(lost_.empty());
}

}  // namespace
}  // namespace hat
