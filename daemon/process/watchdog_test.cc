// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/watchdog.h"

#include <gmock/gmock.h>

namespace hat {
namespace {

// Loops whose iterations the test sets; counts the calls that the watchdog makes.
struct Loops {
  explicit Loops(size_t count) : iterations(count), wakes(count) {}
  Watchdog watchdog() {
    std::vector<Watchdog::Loop> loops;
    for (size_t i = 0; i < iterations.size(); ++i) {
      loops.push_back({[this, i] { return iterations[i]; }, [this, i] { ++wakes[i]; }});
    }
    return Watchdog(std::move(loops), [this] { ++signs_of_life; });
  }
  std::vector<uint64_t> iterations;
  std::vector<int> wakes;
  int signs_of_life = 0;
};

TEST(Watchdog, IsFedByTheSlowestLoop) {
  Loops loops(3);
  Watchdog watchdog = loops.watchdog();
  const struct {
    std::vector<uint64_t> iterations;
    int signs_of_life;
  } checks[] = {
      {{0, 0, 0}, 0},     {{9, 9, 0}, 0},    // the third loop hangs, however often the others run
      {{99, 99, 1}, 1},   {{99, 99, 1}, 1},  // no loop has run since the report
      {{100, 100, 2}, 2},                    // one iteration of each loop is enough
      {{100, 101, 3}, 2}, {{101, 101, 3}, 3},
  };
  for (const auto& check : checks) {
    loops.iterations = check.iterations;
    watchdog.check();
    EXPECT_EQ(loops.signs_of_life, check.signs_of_life);
  }
}

TEST(Watchdog, WakesEachLoopOnceForEachSignOfLife) {
  Loops loops(2);
  Watchdog watchdog = loops.watchdog();
  EXPECT_THAT(loops.wakes, testing::Each(1)) << "an idle loop sleeps: it would be taken for dead";
  for (int i = 0; i < 10; ++i) watchdog.check();
  EXPECT_THAT(loops.wakes, testing::Each(1)) << "a loop that hangs must not be sent more and more";
  loops.iterations = {1, 1};
  watchdog.check();
  EXPECT_THAT(loops.wakes, testing::Each(2));
}

}  // namespace
}  // namespace hat
