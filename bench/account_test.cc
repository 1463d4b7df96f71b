// SPDX-License-Identifier: Apache-2.0
// bench/account_test.cc: tests which calls count at the begin and the end of the measured window,
// and that Little's law holds for simulated runs.
#include "bench/account.h"

#include <gtest/gtest.h>

#include <vector>

#include "bench/account_json.h"

namespace hat::bench {
namespace {

using std::chrono::milliseconds;
using Clock = Window::Clock;

Clock::time_point at(int ms) { return Clock::time_point(milliseconds(ms)); }

struct Edge {
  const char* what;
  int begun, ended;
  uint64_t counts;
  int time;  // 0: the time does not count
  uint64_t cut_off;
};

TEST(Account, CallsAtTheEdgesOfTheWindow) {
  const Window window{at(100), at(200)};
  for (const Edge& edge : {
           Edge{"before the window", 50, 99, 0, 0, 0},
           Edge{"over its begin", 50, 100, 1, 0, 0},
           Edge{"inside", 100, 199, 1, 99, 0},
           Edge{"over its end", 150, 270, 0, 120, 1},
           Edge{"in flight for all of it", 50, 300, 0, 100, 1},
           Edge{"after the window", 200, 250, 0, 0, 0},
       }) {
    SCOPED_TRACE(edge.what);
    Account account;
    const auto time = account.add_call(window, at(edge.begun), at(edge.begun), at(edge.ended));
    EXPECT_EQ(time.has_value(), edge.time != 0);
    EXPECT_EQ(account.time, milliseconds(edge.time));
    EXPECT_EQ(account.timed, edge.time != 0 ? 1u : 0u);
    EXPECT_EQ(account.ended, edge.counts);
    EXPECT_EQ(account.cut_off, edge.cut_off);
  }
}

TEST(Account, ACallBegunBeforeIsNoneOfANumberOfCalls) {
  const Window window{.begin = at(100), .by_count = true};
  Account account;
  account.add_call(window, at(90), at(90), at(110));
  account.add_call(window, at(110), at(110), at(120));
  EXPECT_EQ(account.ended, 1u);
}

TEST(Account, ThinkTimeIsThatInTheWindow) {
  const Window window{at(100), at(200)};
  Account account;
  // Of the pauses before the first two calls, 10 of 30 ms and 5 of 5 ms are in the window. The
  // pause before the third call does not count, because this call begins after the window.
  account.add_call(window, at(80), at(110), at(120));
  account.add_call(window, at(120), at(125), at(190));
  account.add_call(window, at(190), at(210), at(220));
  EXPECT_EQ(account.think, milliseconds(15));
}

TEST(Account, FewestAndMostOfAllClients) {
  const Window window{at(0), at(100)};
  Account all;
  for (const int calls : {3, 0, 7}) {
    Account one;
    for (int i = 0; i < calls; ++i) one.add_call(window, at(i), at(i), at(i + 1));
    one.close();
    all.add(one);
  }
  EXPECT_EQ(all.clients, 3u);
  EXPECT_EQ(all.fewest, 0u);
  EXPECT_EQ(all.most, 7u);
  EXPECT_EQ(all.ended, 10u);
}

// Simulates clients that make calls in a closed loop until after the end of the window. Each
// element of `times_ms` is a client: the time that each of its calls takes.
Account run(const Window& window, const std::vector<int>& times_ms, int think_ms) {
  Account all;
  int offset = 0;
  for (const int took : times_ms) {
    Account one;
    int before = -(offset++ * 7 % took);  // each client starts at another moment
    while (at(before + think_ms) < window.end) {
      const int begun = before + think_ms;
      one.add_call(window, at(before), at(begun), at(begun + took));
      before = begun + took;
    }
    one.close();
    all.add(one);
  }
  return all;
}

double law(const Account& all, double seconds) {
  const double wanted_us = double(all.clients) * seconds * 1e6 / double(all.ended);
  return wanted_us / (all.mean_us() + all.think_us());
}

TEST(Account, LittlesLawHoldsAmongWhatItSays) {
  const Window window{at(1000), at(2000)};
  for (const int think_ms : {0, 3}) {
    EXPECT_NEAR(law(run(window, std::vector<int>(16, 10), think_ms), 1), 1, 0.05);
    EXPECT_NEAR(law(run(window, {10, 20, 40, 80, 10, 20, 40, 80}, think_ms), 1), 1, 0.05);
    // Four of the eight clients get no answer in the whole window.
    EXPECT_NEAR(law(run(window, {10, 10, 10, 10, 2900, 2900, 2900, 2900}, think_ms), 1), 1, 0.05);
  }
}

TEST(Account, ClientsThatAreNeverAnsweredAreNotLeftOut) {
  const Window window{at(1000), at(2000)};
  const Account all = run(window, {10, 10, 10, 10, 2900, 2900, 2900, 2900}, 0);
  EXPECT_EQ(all.fewest, 0u);
  EXPECT_GE(all.most, 99u);
  EXPECT_GE(all.cut_off, 4u);
  // The mean would be 10 ms (10,000 µs) if the four clients without an answer did not count.
  EXPECT_GT(all.mean_us(), 19'000);
}

TEST(Account, Json) {
  const Window window{at(0), at(10)};
  Account one;
  one.add_call(window, at(0), at(1), at(3));
  one.add_call(window, at(3), at(4), at(12));
  one.close();
  EXPECT_EQ(account_json(one).dump(),
            R"({"mean_us":5000.0,"think_us":1000.0,"fewest":1,"most":1,"cut_off":1})");
}

}  // namespace
}  // namespace hat::bench
