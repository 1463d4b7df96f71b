// SPDX-License-Identifier: Apache-2.0
#include "engine/send_turns.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/fake_member.h"
#include "engine/lane.h"

namespace hat::engine {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr size_t kTurn = SendTurns::kTurnBytes;
constexpr size_t kEndless = SIZE_MAX / 2;

// A lane that takes `space` bytes before it is congested.
class FakeLane final : public Lane {
 public:
  uint64_t send(FrameHeader, std::initializer_list<Bytes>) override { return 0; }
  Fate fate(uint64_t) const override { return Fate::kUnknown; }
  bool congested() const override { return space <= 0; }
  bool broken() const override { return false; }
  bool idle() const override { return true; }
  void flush() override {}

  void take(size_t bytes) { space -= static_cast<int64_t>(bytes); }
  int64_t space = 0;
};

// A stream that has `waiting` bytes to send, in sends of at most `piece` bytes.
struct Sender {
  Sender(FakeLane& its_lane, std::vector<std::string>& its_log, std::string its_name,
         uint32_t group = 0)
      : lane(its_lane), log(its_log), name(std::move(its_name)), member(group) {
    member.on_each = [this] {
      log.push_back(name);
      send();
    };
  }
  void send() {
    while (waiting != 0) {
      const size_t budget = lane.turns().budget(member);
      if (budget == 0) return;
      const size_t bytes = std::min({waiting, piece, exact ? budget : piece});
      waiting -= bytes;
      sent += bytes;
      lane.take(bytes);
      lane.turns().sent(member, bytes);
    }
  }

  FakeLane& lane;
  std::vector<std::string>& log;
  std::string name;
  size_t waiting = kEndless;
  size_t piece = kTurn;
  bool exact = true;  // false: a send can exceed the budget
  size_t sent = 0;
  FakeMember member;
};

class SendTurnsTest : public testing::Test {
 protected:
  // Lets the lane take `bytes` bytes, and serves the streams.
  void serve(size_t bytes) {
    lane_.space = static_cast<int64_t>(bytes);
    lane_.turns().serve();
  }
  Sender& add(std::string name, uint32_t group = 0) {
    streams_.push_back(std::make_unique<Sender>(lane_, log_, std::move(name), group));
    return *streams_.back();
  }

  FakeLane lane_;
  std::vector<std::string> log_;
  std::vector<std::unique_ptr<Sender>> streams_;
};

TEST_F(SendTurnsTest, AStreamSendsFreelyWhileNoStreamWaits) {
  lane_.space = 1;
  Sender& a = add("a");
  EXPECT_EQ(lane_.turns().budget(a.member), SendTurns::kUnlimited);
  EXPECT_FALSE(a.member.waits_for_turn());
}

TEST_F(SendTurnsTest, StreamsSendInTurnsInTheOrderInWhichTheyCame) {
  for (const char* name : {"a", "b", "c"}) add(name).send();
  EXPECT_THAT(log_, IsEmpty());
  serve(5 * kTurn);
  EXPECT_THAT(log_, ElementsAre("a", "b", "c", "a", "b"));
  serve(2 * kTurn);
  EXPECT_THAT(log_, ElementsAre("a", "b", "c", "a", "b", "c", "a"));
}

TEST_F(SendTurnsTest, AStreamThatTheLaneHasCutShortContinuesFirst) {
  Sender& a = add("a");
  Sender& b = add("b");
  a.piece = b.piece = kTurn / 4;
  a.send();
  b.send();
  serve(kTurn / 2);
  EXPECT_EQ(a.sent, kTurn / 2);
  serve(kTurn);
  EXPECT_EQ(a.sent, kTurn);
  EXPECT_EQ(b.sent, kTurn / 2);
}

TEST_F(SendTurnsTest, AStreamPaysForWhatItHasSentTooMuch) {
  Sender& a = add("a");
  Sender& b = add("b");
  a.exact = false;
  a.piece = 3 * kTurn;
  a.send();
  b.send();
  serve(12 * kTurn);
  EXPECT_NEAR(static_cast<double>(a.sent), static_cast<double>(b.sent), 3.0 * kTurn);
}

TEST_F(SendTurnsTest, AStreamWithFewBytesLeavesAndSavesNothingForLater) {
  Sender& a = add("a");
  Sender& b = add("b");
  a.waiting = 10;
  a.send();
  b.send();
  serve(2 * kTurn);
  EXPECT_EQ(a.sent, 10u);
  EXPECT_FALSE(a.member.waits_for_turn());
  EXPECT_TRUE(b.member.waits_for_turn());
  a.waiting = kEndless;
  a.send();  // joins after b
  log_.clear();
  serve(2 * kTurn);
  EXPECT_EQ(log_.front(), "b");
  EXPECT_LE(a.sent, 10 + 2 * kTurn);
}

TEST_F(SendTurnsTest, AGroupOfManyStreamsGetsNoMoreThanAGroupOfOne) {
  for (int i = 0; i < 50; ++i) add("many", 1).send();
  Sender& alone = add("alone", 2);
  alone.send();
  serve(100 * kTurn);
  size_t many = 0;
  for (const auto& stream : streams_) many += stream->sent;
  many -= alone.sent;
  EXPECT_NEAR(static_cast<double>(many), static_cast<double>(alone.sent), 2.0 * kTurn);
  for (size_t i = 0; i < 50; ++i) EXPECT_EQ(streams_[i]->sent, kTurn) << i;
}

// Streams with small messages share the turn of their group, so that the group gets as many bytes
// as a group with large messages.
TEST_F(SendTurnsTest, AGroupsTurnIsCountedInBytesAndNotInStreams) {
  constexpr size_t kSmall = kTurn / 16;
  for (int i = 0; i < 64; ++i) {
    Sender& small = add("small", 1);
    small.waiting = kSmall;
    small.send();
  }
  Sender& large = add("large", 2);
  large.send();
  serve(4 * kTurn);
  EXPECT_EQ(large.sent, 2 * kTurn);
}

TEST_F(SendTurnsTest, AStreamThatIsStirredInAnothersTurnWaitsForItsOwn) {
  Sender& a = add("a");
  Sender& b = add("b");
  a.send();
  a.waiting = 10;
  a.member.on_each = [&] {
    log_.push_back("a");
    b.send();
    EXPECT_EQ(b.sent, 0u);
    a.send();
  };
  serve(3 * kTurn);
  EXPECT_EQ(a.sent, 10u);
  EXPECT_THAT(log_, ElementsAre("a", "b", "b", "b"));
}

// A stream whose turn was cut short changes to another lane and comes back.
TEST_F(SendTurnsTest, AStreamThatLeavesGivesUpTheRestOfItsTurn) {
  Sender& a = add("a");
  Sender& b = add("b");
  a.piece = kTurn / 4;
  a.send();
  b.send();
  serve(kTurn / 2);
  EXPECT_EQ(a.sent, kTurn / 2);
  a.member.stop_waiting_for_turn();
  a.send();  // joins after b
  log_.clear();
  serve(kTurn);
  EXPECT_THAT(log_, ElementsAre("b"));
}

TEST_F(SendTurnsTest, StreamsOfAHigherPriorityGetMoreOfTheirGroup) {
  std::map<Priority, Sender*> streams;
  for (const Priority priority : {Priority::kLow, Priority::kNormal, Priority::kHigh}) {
    Sender& stream = add(std::to_string(static_cast<int>(priority)));
    stream.member.set_priority(priority);
    stream.send();
    streams[priority] = &stream;
  }
  serve(3 * kTurn);
  EXPECT_THAT(log_, ElementsAre("2", "1", "0")) << "the highest first";
  for (int i = 0; i < 210; ++i) serve(kTurn);
  const auto turns = [&](Priority priority) {
    return static_cast<double>(streams[priority]->sent) / static_cast<double>(kTurn);
  };
  EXPECT_NEAR(turns(Priority::kHigh), 160, 4);
  EXPECT_NEAR(turns(Priority::kNormal), 40, 4);
  EXPECT_NEAR(turns(Priority::kLow), 10, 4);
}

TEST_F(SendTurnsTest, APriorityIsThatOfAGroupAlone) {
  Sender& high = add("high", 1);
  Sender& low = add("low", 2);
  high.member.set_priority(Priority::kHigh);
  low.member.set_priority(Priority::kLow);
  high.send();
  low.send();
  serve(100 * kTurn);
  EXPECT_NEAR(static_cast<double>(high.sent), static_cast<double>(low.sent), 1.0 * kTurn);
}

// A client connection waits by the priority of its last call, and has read a call of another
// priority when it waits again.
TEST_F(SendTurnsTest, ANewPriorityCountsWhenTheStreamWaitsAgain) {
  Sender& changes = add("changes");
  Sender& normal = add("normal");
  changes.member.set_priority(Priority::kLow);
  changes.send();
  changes.member.set_priority(Priority::kHigh);
  normal.send();
  serve(2 * kTurn);
  EXPECT_THAT(log_, ElementsAre("normal", "changes"));
  log_.clear();
  for (int i = 0; i < 50; ++i) serve(kTurn);
  EXPECT_NEAR(static_cast<double>(std::ranges::count(log_, "normal")), 50 / 5, 1);
}

TEST_F(SendTurnsTest, AStreamThatEndsOrLeavesGetsNoTurn) {
  Sender& a = add("a");
  Sender& b = add("b");
  Sender& c = add("c");
  for (Sender* stream : {&a, &b, &c}) stream->send();
  a.member.stop_waiting_for_turn();
  streams_.erase(streams_.begin() + 1);  // b
  serve(2 * kTurn);
  EXPECT_THAT(log_, ElementsAre("c", "c"));
}

// However the lane's space comes, no stream gets more than two turns while another one waits.
TEST_F(SendTurnsTest, NoStreamWaitsForMoreThanTwoTurnsOfAnother) {
  for (int i = 0; i < 20; ++i) {
    Sender& stream = add(std::to_string(i), static_cast<uint32_t>(i % 3));
    stream.piece = kTurn / 8 + static_cast<size_t>(i) * 1000;
    stream.send();
  }
  for (size_t i = 0; i < 500; ++i) serve(1 + i * 7919 % (3 * kTurn));
  for (uint32_t group = 0; group < 3; ++group) {
    size_t least = kEndless;
    size_t most = 0;
    for (size_t i = group; i < streams_.size(); i += 3) {
      least = std::min(least, streams_[i]->sent);
      most = std::max(most, streams_[i]->sent);
    }
    EXPECT_LE(most - least, 2 * kTurn) << "group " << group;
  }
}

#if DCHECK_IS_ON()
TEST_F(SendTurnsTest, TurnsAreNotNested) {
  Sender& a = add("a");
  a.send();
  a.member.on_each = [&] { lane_.turns().serve(); };
  EXPECT_DEATH(serve(kTurn), "a turn is running");
}
#endif

}  // namespace
}  // namespace hat::engine
