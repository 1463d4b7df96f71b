// SPDX-License-Identifier: Apache-2.0
// client/ring/channel_test.cc: tests that a channel carries bytes in order, sends one doorbell for
// each sleep, and detects invalid counters of the other side.
#include "client/ring/channel.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "client/ring/pair.h"

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;

void put(Channel& channel, std::string_view text) {
  const auto space = channel.writable(text.size());
  ASSERT_GE(space.size(), text.size());
  std::memcpy(space.data(), text.data(), text.size());
  channel.publish(text.size());
}

std::string take(Channel& channel) {
  const auto bytes = channel.readable();
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  channel.consume(bytes.size());
  return text;
}

bool has_doorbell(const Channel& channel) {
  pollfd fd{channel.fd(), POLLIN, 0};
  return poll(&fd, 1, 0) == 1;
}

TEST(Channel, CarriesBytesBothWays) {
  Pair pair;
  EXPECT_TRUE(pair.acceptor->readable().empty());
  put(*pair.connector, "request");
  put(*pair.connector, " and more");
  EXPECT_EQ(take(*pair.acceptor), "request and more");
  put(*pair.acceptor, "reply");
  EXPECT_EQ(take(*pair.connector), "reply");
  EXPECT_TRUE(pair.connector->readable().empty());
}

TEST(Channel, GivesAnyPartOfTheRingInOnePiece) {
  Pair pair;
  const std::string most(kRingBytesMin - 100, 'a');
  put(*pair.connector, most);
  EXPECT_EQ(take(*pair.acceptor), most);
  std::string across(5000, 'b');  // starts 100 bytes before the ring's end
  across.back() = 'c';
  put(*pair.connector, across);
  EXPECT_EQ(take(*pair.acceptor), across);
}

TEST(Channel, HasRoomForWhatTheOtherSideConsumed) {
  Pair pair;
  put(*pair.connector, std::string(kRingBytesMin, 'x'));
  EXPECT_TRUE(pair.connector->writable().empty());
  pair.acceptor->consume(10);
  EXPECT_EQ(pair.connector->writable().size(), 10u);
}

constexpr size_t kPage = 4096;
constexpr size_t kRewound = 512;  // the offset at which a rewound ring continues

// Returns the offset in the ring at which the next byte of this side will be.
size_t next_offset(Channel& channel, Side side) {
  return static_cast<size_t>(channel.writable().data() - channel.memory()->ring(side));
}

TEST(Channel, RewindsWhenTheOtherSideHasConsumedAll) {
  Pair pair;
  for (int round = 0; round < 3; ++round) {
    const size_t begin = round == 0 ? 0 : kRewound;
    EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), begin);
    for (const auto& text :
         {std::string(kPage - begin - 1, 'a'), std::string("b"), std::string("c")}) {
      pair.connector->rewind();
      put(*pair.connector, text);
      EXPECT_EQ(take(*pair.acceptor), text);
    }
    EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kRewound + 1) << "`c` was first";
    put(*pair.connector, std::string(kPage, 'd'));
    take(*pair.acceptor);
    pair.connector->rewind();
    EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kRewound);
    put(*pair.acceptor, std::string(kPage, 'e'));  // the other direction is independent
    EXPECT_EQ(take(*pair.connector), std::string(kPage, 'e'));
  }
}

TEST(Channel, CarriesSmallMessagesInTwoPagesOfARing) {
  Pair pair(kRingBytesDefault);
  size_t end = 0;
  for (int i = 0; i < 10'000; ++i) {
    pair.connector->rewind();
    put(*pair.connector, std::string(100, 'a'));
    end = std::max(end, next_offset(*pair.connector, Side::kConnector));
    take(*pair.acceptor);
  }
  EXPECT_LE(end, 2 * kPage);
}

TEST(Channel, TriesToRewindOnceInAPageOfBytes) {
  Pair pair;
  put(*pair.connector, std::string(kPage, 'a'));
  pair.connector->rewind();
  take(*pair.acceptor);
  put(*pair.connector, std::string(kPage - 1, 'b'));
  take(*pair.acceptor);
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), 2 * kPage - 1) << "too early";
  put(*pair.connector, "c");
  take(*pair.acceptor);
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kRewound);
}

TEST(Channel, DoesNotRewindOverBytesThatAreStillNeeded) {
  Pair pair;
  put(*pair.connector, std::string(kPage, 'a'));
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kPage) << "nothing was consumed";
  put(*pair.connector, std::string(kPage, 'b'));
  pair.acceptor->pass(2 * kPage);
  pair.acceptor->release(2 * kPage - 1);
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), 2 * kPage) << "the last byte is lent";
  put(*pair.connector, std::string(kPage, 'c'));
  pair.acceptor->consume(kPage);
  pair.acceptor->release(1);
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kRewound);
}

TEST(Channel, DoesNotRewindBeforeVersion3) {
  Pair pair(kRingBytesMin, 2);
  put(*pair.connector, std::string(kPage, 'a'));
  take(*pair.acceptor);
  pair.connector->rewind();
  EXPECT_EQ(next_offset(*pair.connector, Side::kConnector), kPage);
  EXPECT_EQ(pair.control->sides[0].origin, 0u);
}

TEST(Channel, ContinuesARingThatWasRewound) {
  Pair pair;
  put(*pair.connector, std::string(kPage, 'a'));
  take(*pair.acceptor);
  pair.connector->rewind();
  put(*pair.connector, "first ");
  Channel again(dup(pair.connector->fd()), pair.connector->memory(), Side::kConnector);
  again.resync_writes();
  put(again, "second");
  EXPECT_EQ(take(*pair.acceptor), "first second");
}

TEST(Channel, EndsAfterItsLastByte) {
  Pair pair;
  put(*pair.connector, "last");
  pair.connector->end_writes();
  EXPECT_FALSE(pair.acceptor->at_end());
  EXPECT_EQ(take(*pair.acceptor), "last");
  EXPECT_TRUE(pair.acceptor->at_end());
  put(*pair.acceptor, "half-closed");
  EXPECT_EQ(take(*pair.connector), "half-closed");
  EXPECT_FALSE(pair.connector->at_end());
}

TEST(Channel, WhoseOtherSideIsGoneIsReadToItsEnd) {
  Pair pair;
  put(*pair.connector, "last");
  pair.connector.reset();
  pair.acceptor->hear();
  EXPECT_TRUE(pair.acceptor->gone());
  EXPECT_FALSE(pair.acceptor->at_end());
  EXPECT_EQ(take(*pair.acceptor), "last");
  EXPECT_TRUE(pair.acceptor->at_end());
}

TEST(ChannelDeathTest, ASidePublishesAndReleasesNoMoreThanItMay) {
  Pair pair;
  put(*pair.connector, "four");
  EXPECT_DEATH(pair.connector->publish(pair.connector->writable().size() + 1), "written_");
  EXPECT_DEATH(pair.acceptor->release(1), "read_") << "nothing was passed";
  EXPECT_DEATH(pair.acceptor->pass(kRingBytesMin + 1), "read_");
}

TEST(Channel, RingsOnceForEachTimeThatSomebodySleeps) {
  Pair pair;
  put(*pair.connector, "nobody sleeps");
  EXPECT_FALSE(has_doorbell(*pair.acceptor));
  EXPECT_FALSE(pair.acceptor->may_sleep(kForData)) << "there is something";
  take(*pair.acceptor);

  EXPECT_TRUE(pair.acceptor->may_sleep(kForData));
  put(*pair.connector, "a");
  put(*pair.connector, "b");
  EXPECT_TRUE(has_doorbell(*pair.acceptor));
  pair.acceptor->stay_awake(kForData);
  char doorbells[8];
  EXPECT_EQ(recv(pair.acceptor->fd(), doorbells, sizeof doorbells, MSG_DONTWAIT), 1);
  put(*pair.connector, "awake");
  EXPECT_FALSE(has_doorbell(*pair.acceptor));
}

TEST(Channel, WakesWhoWaitsForRoomOrTheEnd) {
  Pair pair;
  EXPECT_FALSE(pair.connector->may_sleep(kForSpace));
  put(*pair.connector, std::string(kRingBytesMin, 'x'));
  EXPECT_TRUE(pair.connector->may_sleep(kForSpace));
  pair.acceptor->consume(1);
  EXPECT_TRUE(has_doorbell(*pair.connector));

  pair.acceptor->consume(kRingBytesMin - 1);
  EXPECT_TRUE(pair.acceptor->may_sleep(kForData));
  pair.connector->end_writes();
  EXPECT_TRUE(has_doorbell(*pair.acceptor));
}

// Sleeps on the futex until `wake` was called by another thread, 20 ms later. Returns the time of
// the sleep.
std::chrono::steady_clock::duration sleep_until_woken(Channel& channel, uint32_t what,
                                                      const std::function<void()>& wake) {
  std::thread waker([&] {
    std::this_thread::sleep_for(20ms);
    wake();
  });
  const auto from = std::chrono::steady_clock::now();
  channel.sleep_briefly(what, 10s);
  const auto slept = std::chrono::steady_clock::now() - from;
  waker.join();
  return slept;
}

TEST(Channel, WakesASleeperOnTheFutexWithoutADoorbell) {
  Pair pair;
  ASSERT_TRUE(pair.acceptor->has_futex());
  EXPECT_LT(sleep_until_woken(*pair.acceptor, kForData, [&] { put(*pair.connector, "data"); }), 5s);
  EXPECT_EQ(take(*pair.acceptor), "data");
  EXPECT_FALSE(has_doorbell(*pair.acceptor));

  put(*pair.connector, std::string(kRingBytesMin, 'x'));
  EXPECT_LT(sleep_until_woken(*pair.connector, kForSpace, [&] { pair.acceptor->consume(1); }), 5s);
  EXPECT_EQ(pair.connector->writable().size(), 1u);

  pair.acceptor->consume(kRingBytesMin - 1);
  EXPECT_LT(sleep_until_woken(*pair.acceptor, kForData, [&] { pair.connector->end_writes(); }), 5s);
  EXPECT_TRUE(pair.acceptor->at_end());
  EXPECT_FALSE(has_doorbell(*pair.acceptor));
}

TEST(Channel, WakesASleeperOnTheFutexWhenItIsDestroyed) {
  Pair pair;
  EXPECT_LT(sleep_until_woken(*pair.acceptor, kForData, [&] { pair.connector.reset(); }), 5s);
  pair.acceptor->hear();
  EXPECT_TRUE(pair.acceptor->gone());
}

TEST(Channel, DoesNotSleepOnTheFutexIfTheRingIsReadyOrTheTimeIsOver) {
  Pair pair;
  const auto from = std::chrono::steady_clock::now();
  pair.acceptor->sleep_briefly(kForData, 30ms);
  EXPECT_GE(std::chrono::steady_clock::now() - from, 29ms);
  put(*pair.connector, "data");
  pair.acceptor->sleep_briefly(kForData, 10s);
  pair.connector->sleep_briefly(kForSpace, 10s);
  EXPECT_LT(std::chrono::steady_clock::now() - from, 5s);
  EXPECT_EQ(pair.control->sides[1].waits, 0u) << "nobody sleeps";
}

TEST(Channel, HasNoFutexInVersion1) {
  Pair pair;
  pair.control->version = 1;
  EXPECT_FALSE(pair.acceptor->has_futex());
}

TEST(Channel, CarriesAStreamBetweenThreadsThatSleep) {
  Pair pair;
  constexpr size_t kTotal = 20'000'000;
  const auto wait = [](Channel& channel, uint32_t what) {
    if (!channel.may_sleep(what)) return;
    pollfd fd{channel.fd(), POLLIN, 0};
    ASSERT_EQ(poll(&fd, 1, 10'000), 1) << "a doorbell was lost";
    channel.stay_awake(what);
    channel.hear();
  };
  std::thread writer([&] {
    std::minstd_rand random(1);
    for (size_t sent = 0; sent < kTotal;) {
      pair.connector->rewind();
      const auto space = pair.connector->writable();
      const size_t count = std::min({space.size(), kTotal - sent, size_t{random() % 9000}});
      for (size_t i = 0; i < count; ++i) space[i] = static_cast<std::byte>((sent + i) % 251);
      if (count != 0) pair.connector->publish(count);
      if (space.empty()) wait(*pair.connector, kForSpace);
      sent += count;
    }
    pair.connector->end_writes();
  });
  size_t received = 0;
  while (!pair.acceptor->at_end()) {
    const auto bytes = pair.acceptor->readable();
    for (const std::byte byte : bytes) {
      ASSERT_EQ(byte, static_cast<std::byte>(received++ % 251));
    }
    pair.acceptor->consume(bytes.size());
    if (bytes.empty()) wait(*pair.acceptor, kForData);
  }
  writer.join();
  EXPECT_EQ(received, kTotal);
}

// Tests values that a hostile other side could write into its counters.
class HostileCounter : public testing::TestWithParam<uint64_t> {};

TEST_P(HostileCounter, OfBytesWrittenBreaksTheChannel) {
  Pair pair;
  put(*pair.connector, "fine");
  take(*pair.acceptor);
  pair.control->sides[0].written = 4 + GetParam();
  EXPECT_TRUE(pair.acceptor->readable().empty());
  EXPECT_TRUE(pair.acceptor->broken());
  EXPECT_FALSE(pair.acceptor->may_sleep(kForData)) << "it must hear of it";
  pair.control->sides[0].written = 4;
  EXPECT_TRUE(pair.acceptor->writable().empty()) << "it is broken for good";
}

TEST_P(HostileCounter, OfBytesConsumedBreaksTheChannel) {
  Pair pair;
  pair.control->sides[0].consumed = 0 - GetParam();
  EXPECT_TRUE(pair.acceptor->writable(kRingBytesMin + 1).empty());
  EXPECT_TRUE(pair.acceptor->broken());
}

INSTANTIATE_TEST_SUITE_P(Bounds, HostileCounter,
                         testing::Values(kRingBytesMin + 1, kRingBytesMin * 2, uint64_t{1} << 63,
                                         std::numeric_limits<uint64_t>::max()));

TEST(Channel, ReadsWithinTheRingWhateverTheOrigin) {
  Pair pair;
  const std::byte* const ring = pair.acceptor->memory()->ring(Side::kConnector);
  put(*pair.connector, std::string(kRingBytesMin, 'x'));
  for (const uint64_t origin : {uint64_t{1}, kRingBytesMin + 1, uint64_t{1} << 63, ~uint64_t{0}}) {
    pair.control->sides[0].origin = origin;
    const auto bytes = pair.acceptor->readable();
    EXPECT_EQ(bytes.size(), kRingBytesMin);
    EXPECT_LT(static_cast<size_t>(bytes.data() - ring), kRingBytesMin)
        << "the ring is mapped twice";
  }
}

TEST(Channel, IsNotMisledByAWriterThatTakesBytesBack) {
  Pair pair;
  put(*pair.connector, "0123456789");
  EXPECT_EQ(pair.acceptor->readable().size(), 10u);
  pair.control->sides[0].written = 5;
  pair.acceptor->consume(10);  // the bytes that readable() has returned before
  EXPECT_TRUE(pair.acceptor->readable().empty());
  EXPECT_TRUE(pair.acceptor->broken());
}

TEST(Channel, IsNotMisledByAReaderThatTakesBytesBackOrTooMany) {
  for (const uint64_t consumed : {uint64_t{3}, uint64_t{6}, ~uint64_t{0}}) {
    Pair pair;
    put(*pair.connector, "01234");
    pair.control->sides[1].consumed = 4;
    EXPECT_EQ(pair.connector->writable(kRingBytesMin).size(), kRingBytesMin - 1);
    pair.control->sides[1].consumed = consumed;
    EXPECT_TRUE(pair.connector->writable(kRingBytesMin).empty()) << consumed;
    EXPECT_TRUE(pair.connector->broken()) << consumed;
  }
}

TEST(Channel, IsNeverBlockedByDoorbells) {
  Pair pair;
  // The acceptor does not read the doorbells, so the socket becomes full. publish() must not block.
  for (int i = 0; i < 100'000; ++i) {
    pair.control->sides[1].waits = kForData;
    pair.connector->publish(0);
  }
  SUCCEED();
}

}  // namespace
}  // namespace hatrpc::ring
