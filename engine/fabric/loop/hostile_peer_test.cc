// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/hostile_peer_test.cc: tests that a peer which breaks the rules of the shared
// memory cannot block a thread for long, and gains no access to other memory.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include "engine/fabric/conformance.h"
#include "engine/fabric/loop/fake_peer.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::engine::loop {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr RemoteAccess kAll{.write = true, .read = true, .atomic = true};

bool readable(int fd) {
  pollfd one{.fd = fd, .events = POLLIN};
  return poll(&one, 1, 0) == 1;
}

class HostilePeer : public testing::Test {
 protected:
  void meet(int doorbell = -1) {
    side_.qp = side_.make_queue_pair(side_.options());
    ASSERT_TRUE(side_.qp->connect(FakePeer::own_address()));
    peer_.emplace(side_.qp->address(), doorbell);
    iterate();
  }
  void iterate() {
    while (side_.fabric->next_event()) {
    }
  }
  size_t send_one() {
    const Segment from = side_.at(0, 64);
    const WorkRequest work{.id = 7, .opcode = Opcode::kSend, .segments = {&from, 1}};
    return side_.qp->post({&work, 1});
  }
  // Returns the first completion, or nullopt if 100 polls find no completion.
  std::optional<Completion> completion() {
    std::array<Completion, 1> done;
    for (int looks = 0; looks < 100; ++looks) {
      iterate();
      if (side_.cq->poll(done) == 1) return done[0];
    }
    return std::nullopt;
  }

  FabricSide side_{&open_loop_fabric, kAll};
  std::optional<FakePeer> peer_;
};

struct Hand {
  std::string name;
  std::atomic<uint32_t>& (*of)(FakePeer&);
};

class HandTest : public HostilePeer, public testing::WithParamInterface<Hand> {
 protected:
  std::atomic<uint32_t>& hand() { return GetParam().of(*peer_); }
};

INSTANTIATE_TEST_SUITE_P(Each, HandTest,
                         testing::Values(Hand{"touching",
                                              [](FakePeer& peer) -> std::atomic<uint32_t>& {
                                                return peer.to().touching;
                                              }},
                                         Hand{"gathering",
                                              [](FakePeer& peer) -> std::atomic<uint32_t>& {
                                                return peer.from().gathering;
                                              }}),
                         [](const auto& tested) { return tested.param.name; });

TEST_P(HandTest, ThatStaysUpHoldsUpNobodyWhoFails) {
  meet();
  hand().store(1);
  const auto begin = Clock::now();
  side_.qp->fail();
  EXPECT_LT(Clock::now() - begin, 50ms) << "it waited";
  EXPECT_EQ(side_.qp->state(), QueuePairState::kError);
  EXPECT_FALSE(side_.qp->settled());
  hand().store(0);
  EXPECT_TRUE(side_.qp->settled());
}

TEST_P(HandTest, ThatStaysUpIsWaitedForAWhileAloneByWhoDestroys) {
  meet();
  hand().store(1);
  const auto begin = Clock::now();
  side_.qp.reset();
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST_P(HandTest, IsDownOnceItsProcessIsGone) {
  meet();
  hand().store(1);
  side_.qp->fail();
  EXPECT_FALSE(side_.qp->settled());
  peer_->channel().close();
  EXPECT_TRUE(side_.qp->settled());
}

TEST_P(HandTest, OfAProcessThatBreaksTheFormatIsHeededUntilThatIsGone) {
  meet();
  hand().store(1);
  ASSERT_TRUE(peer_->channel().send({.kind = ChannelMessage::Kind::kReady}, {})) << "a second one";
  iterate();
  EXPECT_EQ(side_.qp->state(), QueuePairState::kError);
  EXPECT_FALSE(side_.qp->settled());
  peer_->channel().send({.kind = ChannelMessage::Kind::kReady}, {});
  iterate();
  EXPECT_FALSE(readable(side_.fabric->event_fd())) << "it would spin";
  peer_->channel().close();
  EXPECT_TRUE(readable(side_.fabric->event_fd())) << "its memory is free now: somebody may want it";
  iterate();
  EXPECT_TRUE(side_.qp->settled());
  EXPECT_FALSE(readable(side_.fabric->event_fd()));
}

TEST_F(HostilePeer, HoldsUpNoRegionForLong) {
  meet();
  peer_->to().touching.store(1);
  const auto begin = Clock::now();
  side_.region.reset();
  EXPECT_LT(Clock::now() - begin, 5s);
}

TEST_F(HostilePeer, WhoseDoorbellWouldBlockHoldsUpNobodyWhoRings) {
  std::array<int, 2> ends{};
  ASSERT_EQ(pipe(ends.data()), 0);
  const Descriptor out(ends[0]), in(ends[1]);
  fcntl(in.get(), F_SETFL, O_NONBLOCK);
  while (write(in.get(), "x", 1) == 1) {
  }
  fcntl(in.get(), F_SETFL, 0);  // the pipe is full, so from now on a write to it blocks
  meet(in.get());
  peer_->from().wakes_receiver.store(Wake::kAny);
  peer_->to().wakes_sender.store(Wake::kAny);
  EXPECT_EQ(send_one(), 1u);
  EXPECT_EQ(peer_->from().wakes_receiver.load(), Wake::kNone) << "it did not ring";
}

TEST_F(HostilePeer, WhoRingsWithoutEndLeavesTheDoorbellToBeTaken) {
  auto doorbell = Doorbell::create();
  ASSERT_TRUE(doorbell);
  for (int rings = 0; rings < 100'000; ++rings) doorbell->ring();
  int taken = 0;
  for (; readable(doorbell->event_fd()); ++taken) doorbell->take();
  EXPECT_GT(taken, 0);
  EXPECT_LT(taken, 10'000);
}

struct EntryRow {
  std::string name;
  EntryHead head;
  RingSegment segment;  // `segment.address` is an offset into the peer's memory
  Status status;
  uint64_t region_bytes = FakePeer::kMemoryBytes;  // the size that the peer's table claims
};

class EntryTest : public HostilePeer, public testing::WithParamInterface<EntryRow> {};

constexpr uint32_t kKey = FakePeer::kKey;
INSTANTIATE_TEST_SUITE_P(
    Each, EntryTest,
    testing::Values(
        EntryRow{"good", {Opcode::kSend, 0, 1, 0, 64}, {0, 64, kKey}, Status::kSuccess},
        EntryRow{"no_opcode", {Opcode{200}, 0, 1, 0, 64}, {0, 64, kKey}, Status::kSuccess},
        EntryRow{"longer_than_the_receive",
                 {Opcode::kSend, 0, 1, 0, 4096},
                 {0, 4096, kKey},
                 Status::kLocalLength},
        EntryRow{"all_bits",
                 {Opcode::kSend, 0, 255, 0, UINT32_MAX},
                 {0, UINT32_MAX, kKey},
                 Status::kLocalLength},
        EntryRow{"more_inlined_than_fits",
                 {Opcode::kSend, 1, 0, 0, kInlineBytesMax + 1},
                 {},
                 Status::kOther},
        EntryRow{
            "fewer_bytes_than_said", {Opcode::kSend, 0, 1, 0, 65}, {0, 64, kKey}, Status::kOther},
        EntryRow{"segment_beyond_the_message",
                 {Opcode::kSend, 0, 1, 0, 64},
                 {0, UINT32_MAX, kKey},
                 Status::kOther},
        EntryRow{"no_such_key", {Opcode::kSend, 0, 1, 0, 64}, {0, 64, kKey + 1}, Status::kOther},
        EntryRow{"before_the_region",
                 {Opcode::kSend, 0, 1, 0, 64},
                 {static_cast<uint64_t>(-64), 64, kKey},
                 Status::kOther},
        EntryRow{"behind_the_region",
                 {Opcode::kSend, 0, 1, 0, 64},
                 {FakePeer::kMemoryBytes - 63, 64, kKey},
                 Status::kOther},
        EntryRow{"behind_a_region_whose_table_lies",
                 {Opcode::kSend, 0, 1, 0, 64},
                 {FakePeer::kMemoryBytes - 63, 64, kKey},
                 Status::kOther,
                 UINT64_MAX}),
    [](const auto& tested) { return tested.param.name; });

TEST_P(EntryTest, IsTakenAsFarAsItIsTrue) {
  meet();
  side_.receive(5, 8192, 256);
  const std::string before = side_.read(8192 + 256, 256);
  peer_->table().rows[kKey % kRegionsMax].bytes = GetParam().region_bytes;
  RingSegment segment = GetParam().segment;
  segment.address += peer_->address();
  const bool inlined = GetParam().head.inlined != 0;
  peer_->push(GetParam().head, {&segment, inlined ? 0u : 1u});
  const auto done = completion();
  ASSERT_TRUE(done);
  EXPECT_EQ(done->id, 5u);
  EXPECT_EQ(text(done->status), text(GetParam().status));
  const bool good = GetParam().status == Status::kSuccess;
  EXPECT_EQ(side_.qp->state(), good ? QueuePairState::kConnected : QueuePairState::kError);
  EXPECT_EQ(side_.read(8192 + 256, 256), before) << "behind the receive";
}

TEST_F(HostilePeer, KeepsNothingOfWhatItTookFromASenderThatFailed) {
  meet();
  side_.receive(5, 8192, 256);
  peer_->to().sender_failed.store(1);
  const RingSegment segment{peer_->address(), 64, kKey};
  peer_->push({Opcode::kSend, 0, 1, 0, 64}, {&segment, 1});
  EXPECT_FALSE(completion());
  EXPECT_EQ(side_.qp->state(), QueuePairState::kError);
}

TEST_F(HostilePeer, WhoClaimsToHaveTakenWhatNobodySentCompletesNothing) {
  meet();
  peer_->from().taken.store(UINT64_MAX);
  peer_->from().refused.store(UINT64_MAX);
  EXPECT_FALSE(completion());
  EXPECT_EQ(send_one(), 1u);
}

TEST_F(HostilePeer, WhoRegistersWithoutEndIsGivenUp) {
  meet();
  const ChannelMessage again{.kind = ChannelMessage::Kind::kRegion, .key = kKey};
  uint32_t sent = 0;
  while (sent < 10 * kRegionsMax && peer_->channel().send(again, {peer_->memory_fd()})) ++sent;
  ASSERT_GT(sent, kRegionsMax);
  iterate();
  EXPECT_EQ(side_.qp->state(), QueuePairState::kError);
}

TEST_F(HostilePeer, WhoKnocksWithoutEndKeepsOutNobodyElse) {
  side_.qp = side_.make_queue_pair(side_.options());
  const std::string name = FakePeer::listener_of(side_.qp->address());
  std::vector<Channel> silent;
  for (int i = 0; i < 600; ++i) {
    auto channel = Channel::connect(name);
    ASSERT_TRUE(channel);
    silent.push_back(std::move(*channel));
    if (i % 100 == 99) iterate();
  }
  EXPECT_TRUE(silent.front().ended()) << "the oldest made room";
  EXPECT_FALSE(silent.back().ended());
  ASSERT_TRUE(side_.qp->connect(FakePeer::own_address()));
  peer_.emplace(side_.qp->address());
  iterate();
  side_.receive(5, 8192, 256);
  const RingSegment segment{peer_->address(), 64, kKey};
  peer_->push({Opcode::kSend, 0, 1, 0, 64}, {&segment, 1});
  ASSERT_TRUE(completion());
}

}  // namespace
}  // namespace hat::engine::loop
