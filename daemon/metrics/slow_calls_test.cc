// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/slow_calls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

class SlowCallsTest : public testing::Test {
 protected:
  // Ends a call of the function with this number. Returns true if its time was examined.
  bool end(size_t function, Duration took) {
    FunctionCounters& counters = functions_[function]->at(Side::kClient, 0);
    if (!calls_.wants(counters, took, now_)) return false;
    calls_.add({.counters = &counters, .took = took}, now_);
    return true;
  }
  // Returns the milliseconds that the kept calls of a function took, in ascending order.
  std::vector<int64_t> kept(size_t function) const {
    std::vector<int64_t> all;
    for (const CallRecord& call : calls_.all(now_)) {
      if (call.counters->function == functions_[function]) all.push_back(call.took / 1ms);
    }
    std::ranges::sort(all);
    return all;
  }
  FunctionMetrics* add(const std::string& name) { return &registry_.find("Kv", name); }

  MetricsRegistry registry_{1};
  std::vector<FunctionMetrics*> functions_ = {add("a"), add("b"), add("c"), add("d"), add("e")};
  SlowCalls calls_;
  TimePoint now_ = TimePoint{} + 1h;
};

TEST_F(SlowCallsTest, TheSlowestOfAFunctionAreKept) {
  for (int i = 1; i <= 100; ++i) end(0, i * 7 % 101 * 1ms);
  EXPECT_THAT(kept(0),
              ElementsAre(85, 86, 87, 88, 89, 90, 91, 92, 93, 94, 95, 96, 97, 98, 99, 100));
}

TEST_F(SlowCallsTest, OneFunctionLeavesPlacesToOthers) {
  for (int i = 0; i < 1000; ++i) end(0, 1s + i * 1ms);
  for (int i = 0; i < 3; ++i) end(1, 1ms);
  EXPECT_THAT(kept(0), SizeIs(SlowCalls::kPerFunction));
  EXPECT_THAT(kept(1), ElementsAre(1, 1, 1));
}

TEST_F(SlowCallsTest, ASlowerFunctionTakesThePlacesOfFasterOnes) {
  for (size_t function = 0; function < 4; ++function) {
    for (int i = 0; i < 50; ++i) end(function, 10ms * (function + 1));
  }
  EXPECT_THAT(calls_.all(now_), SizeIs(SlowCalls::kMost));
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(end(4, 50ms));
  EXPECT_THAT(kept(4), SizeIs(16));
  EXPECT_THAT(kept(0), IsEmpty());
  EXPECT_FALSE(end(0, 10ms)) << "all places have slower calls";
  EXPECT_TRUE(end(0, 60ms));
  EXPECT_THAT(kept(0), ElementsAre(60));
  EXPECT_THAT(kept(1), SizeIs(15));
}

TEST_F(SlowCallsTest, CallsThatAreTooFastAreNotExamined) {
  for (int i = 0; i < 16; ++i) EXPECT_TRUE(end(0, 5ms));
  EXPECT_FALSE(end(0, 5ms));
  EXPECT_TRUE(end(0, 6ms));
  EXPECT_FALSE(end(0, 5ms)) << "15 calls of 5 ms are left";
  EXPECT_TRUE(end(1, 1ms)) << "another function has places of its own";
}

TEST_F(SlowCallsTest, CallsOfTheLastTwoWindowsAreKept) {
  for (int i = 0; i < 20; ++i) end(0, 1s);
  now_ += SlowCalls::kWindow;
  EXPECT_TRUE(end(0, 2ms)) << "a new window begins";
  EXPECT_THAT(kept(0), SizeIs(17));
  now_ += SlowCalls::kWindow;
  end(0, 3ms);
  EXPECT_THAT(kept(0), ElementsAre(2, 3));
  now_ += SlowCalls::kWindow;
  EXPECT_THAT(kept(0), ElementsAre(3)) << "although no call has ended since";
  now_ += SlowCalls::kWindow;
  EXPECT_THAT(kept(0), IsEmpty());
}

TEST_F(SlowCallsTest, CallsBeforeAPauseAreForgotten) {
  end(0, 1s);
  now_ += 10 * SlowCalls::kWindow;
  end(0, 2ms);
  EXPECT_THAT(kept(0), ElementsAre(2));
}

}  // namespace
}  // namespace hat
