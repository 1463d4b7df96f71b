// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/shared_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace hatrpc::rdma {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

hat::TimePoint after(hat::Duration time) { return std::chrono::steady_clock::now() + time; }

// Counts its news, and wants to be called `more` further times.
class Counting final : public LoopClient {
 public:
  bool on_news() override {
    ++called;
    return more-- > 0;
  }
  int called = 0;
  int more = 0;
};

TEST(SharedLoop, ReturnsWhenTheDeadlinePasses) {
  SharedLoop loop;
  Waiter waiter;
  const auto until = after(milliseconds(20));
  EXPECT_FALSE(loop.run_until(
      waiter, [] { return false; }, until));
  EXPECT_GE(std::chrono::steady_clock::now(), until);
  EXPECT_TRUE(loop.run_until(
      waiter, [] { return true; }, after(seconds(30))));
}

TEST(SharedLoop, AThreadThatDoesNotWaitCanRunAnIteration) {
  SharedLoop loop;
  const auto client = std::make_shared<Counting>();
  client->more = 2;
  loop.note(client);
  EXPECT_EQ(client->called, 0);
  loop.flush();
  EXPECT_EQ(client->called, 3) << "once for the news, and as often as it asked for";
  loop.flush();
  EXPECT_EQ(client->called, 3);
}

// One thread waits in the loop; the other one has news for it.
TEST(SharedLoop, NewsWakeTheLeader) {
  SharedLoop loop;
  const auto client = std::make_shared<Counting>();
  std::thread leader([&] {
    Waiter waiter;
    EXPECT_TRUE(loop.run_until(
        waiter, [&] { return client->called != 0; }, after(seconds(30))));
  });
  while (loop.turns() == 0) std::this_thread::yield();
  loop.note(client);
  leader.join();
  EXPECT_EQ(client->called, 1);
}

TEST(SharedLoop, ALeaderMakesWay) {
  SharedLoop loop;
  std::atomic<bool> done = false;
  std::thread leader([&] {
    Waiter waiter;
    EXPECT_TRUE(loop.run_until(
        waiter, [&] { return done.load(); }, after(seconds(30))));
  });
  while (loop.turns() == 0) std::this_thread::yield();
  for (int i = 0; i < 100; ++i) {
    bool ran = false;
    loop.in_loop([&] {
      loop.reactor().assert_in_loop();
      ran = true;
    });
    EXPECT_TRUE(ran);
  }
  loop.in_loop([&] { done = true; });
  loop.interrupt();
  leader.join();
}

// Many threads wait. The one that leads wakes the others when it leaves.
TEST(SharedLoop, EachThreadReturnsWhenItIsDone) {
  constexpr int kThreads = 8;
  SharedLoop loop;
  struct Follower {
    Waiter waiter;
    std::atomic<bool> done = false;
  };
  std::array<Follower, kThreads> followers;
  std::atomic<int> waiting = 0;
  std::vector<std::thread> threads;
  for (Follower& follower : followers) {
    threads.emplace_back([&] {
      ++waiting;
      EXPECT_TRUE(loop.run_until(
          follower.waiter, [&] { return follower.done.load(); }, after(seconds(30))));
    });
  }
  while (waiting != kThreads) std::this_thread::yield();
  for (Follower& follower : followers) {
    follower.done = true;
    loop.wake(follower.waiter);
    loop.interrupt();  // it may be the one that leads
  }
  for (std::thread& thread : threads) thread.join();
}

// Threads whose time is over leave, whatever is offered to them at that moment: one of the others
// must lead, or the timer of the loop would not fire.
TEST(SharedLoop, OneThreadLeadsAlsoWhenTheTimeOfOthersIsOver) {
  SharedLoop loop;
  bool fired = false;  // used only in the loop and, after it has ended, by this thread
  std::atomic<bool> is_seen = false;
  std::unique_ptr<hat::Timer> timer;
  loop.in_loop([&] {
    timer = loop.reactor().timer([&] { fired = is_seen = true; });
    timer->set(loop.reactor().now() + milliseconds(300));
  });
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&loop, i] {
      Waiter waiter;
      for (int n = 0; n < 50; ++n) {
        loop.run_until(
            waiter, [] { return false; }, after(std::chrono::microseconds(100 * i + n)));
      }
    });
  }
  Waiter waiter;
  EXPECT_TRUE(loop.run_until(
      waiter, [&] { return is_seen.load(); }, after(seconds(30))));
  for (std::thread& thread : threads) thread.join();
  EXPECT_TRUE(fired);
  loop.in_loop([&] { timer.reset(); });
}

TEST(SharedLoop, TheKeeperMakesWayForAnApplication) {
  SharedLoop loop;
  std::atomic<bool> ends = false;
  std::atomic<int> kept = 0;
  std::thread keeper([&] {
    while (!ends) {
      loop.keep([&] {
        ++kept;
        return ends.load();
      });
    }
  });
  while (kept == 0) std::this_thread::yield();
  Waiter waiter;
  EXPECT_FALSE(loop.run_until(
      waiter, [] { return false; }, after(milliseconds(20))));
  bool ran = false;
  loop.in_loop([&] { ran = true; });
  EXPECT_TRUE(ran);
  ends = true;
  loop.interrupt();
  keeper.join();
}

TEST(SharedLoop, ATickHandlesWhatIsReady) {
  SharedLoop loop;
  const auto client = std::make_shared<Counting>();
  bool fired = false;
  std::unique_ptr<hat::Timer> timer;
  loop.in_loop([&] {
    timer = loop.reactor().timer([&] { fired = true; });
    timer->set(loop.reactor().now());
  });
  loop.note(client);
  loop.tick();
  EXPECT_EQ(client->called, 1);
  EXPECT_TRUE(fired);
  EXPECT_EQ(loop.turns(), 1u) << "only the thread of the application counts";
}

}  // namespace
}  // namespace hatrpc::rdma
