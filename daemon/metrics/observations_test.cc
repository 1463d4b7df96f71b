// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/observations.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using namespace std::chrono_literals;

TEST(FlightSamples, AreExactBelow256AndAtMostAnEighthTooHighAbove) {
  for (uint64_t calls = 0; calls <= FlightSamples::kMost; calls += 1 + calls / 100) {
    FlightSamples samples;
    samples.add(calls);
    const uint64_t at = samples.at(1);
    EXPECT_GE(at, calls);
    EXPECT_LE(at, calls < 256 ? calls : calls + calls / 8) << calls;
  }
  FlightSamples samples;
  samples.add(FlightSamples::kMost + 1);
  EXPECT_EQ(samples.at(1), FlightSamples::kMost);
}

TEST(FlightSamples, FindTheNumberThatAShareDoesNotExceed) {
  FlightSamples samples;
  EXPECT_EQ(samples.at(0.5), 0u) << "no sample";
  for (uint64_t calls = 1; calls <= 10; ++calls) samples.add(calls);
  EXPECT_EQ(samples.count(), 10u);
  EXPECT_EQ(samples.at(0.1), 1u);
  EXPECT_EQ(samples.at(0.5), 5u);
  EXPECT_EQ(samples.at(0.95), 10u);
  FlightSamples more;
  for (int i = 0; i < 90; ++i) more.add(1);
  samples.add(more);
  EXPECT_EQ(samples.count(), 100u);
  EXPECT_EQ(samples.at(0.9), 1u);
  EXPECT_EQ(samples.at(0.92), 2u);
}

class ObservationsTest : public testing::Test {
 protected:
  // Ends `calls` calls of `function`, on each of two workers.
  void end_calls(FunctionMetrics& function, uint64_t calls, uint64_t request, uint64_t reply) {
    for (size_t worker = 0; worker < 2; ++worker) {
      FunctionCounters& counters = function.at(Side::kClient, worker);
      for (uint64_t i = 0; i < calls; ++i) {
        counters.started.add();
        counters.requests[0].add();
        counters.request_sizes.add(request);
        counters.reply_sizes.add(reply);
        counters.latency.add(3us);
      }
    }
  }
  // Lets time pass, with a sample each minute.
  void pass(std::chrono::minutes time) {
    for (const TimePoint until = now_ + time; now_ < until;) {
      now_ += 1min;
      observations_.sample(now_, functions_);
    }
  }
  Observation of(FunctionMetrics& function) const {
    return observations_.of(function, Side::kClient);
  }

  TimePoint now_{};
  MetricsRegistry functions_{2};
  Observations observations_{now_};
  FunctionMetrics& get_ = functions_.find("Kv", "get");
  FunctionMetrics& put_ = functions_.find("Kv", "put");
};

TEST_F(ObservationsTest, CountMessagesBySize) {
  end_calls(get_, 3, 64, 65);
  end_calls(get_, 1, 100'000'000, 0);
  const EndedCalls ended = of(get_).ended;
  EXPECT_EQ(ended.calls, 8u);
  EXPECT_EQ(ended.request_sizes.buckets[0], 6u) << "at most 64 B";
  EXPECT_EQ(ended.request_sizes.buckets.back(), 2u) << "more than 16 MiB";
  EXPECT_EQ(ended.reply_sizes.buckets[1], 6u) << "65 to 128 B";
  EXPECT_EQ(ended.reply_sizes.count(), 6u) << "a call without a reply has no size of a reply";
  EXPECT_EQ(ended.latency.count(), 8u);
  EXPECT_EQ(observations_.of(get_, Side::kServer).ended.calls, 0u);
}

TEST_F(ObservationsTest, ForgetCallsAfterTwentyMinutes) {
  end_calls(get_, 100, 64, 64);
  pass(10min);
  EXPECT_EQ(of(get_).ended.calls, 200u);
  end_calls(get_, 1, 64, 64);
  pass(9min);
  EXPECT_EQ(of(get_).ended.calls, 202u);
  EXPECT_EQ(observations_.window(), 19min);
  pass(1min);
  EXPECT_EQ(of(get_).ended.calls, 2u) << "the first half is over";
  EXPECT_EQ(of(get_).ended.request_sizes.buckets[0], 2u);
  EXPECT_EQ(observations_.window(), 10min);
  pass(10min);
  EXPECT_EQ(of(get_).ended.calls, 0u);
}

// A function whose calls are so short that no sample ever sees one in flight.
TEST_F(ObservationsTest, BeginAHalfForFunctionsThatWereNeverSampled) {
  end_calls(put_, 5, 64, 64);
  pass(20min);
  end_calls(put_, 1, 64, 64);
  EXPECT_EQ(of(put_).ended.calls, 2u);
  EXPECT_EQ(of(put_).in_flight.count(), 0u);
}

TEST_F(ObservationsTest, SampleTheFunctionAndTheNodeWhileTheFunctionHasCalls) {
  put_.at(Side::kServer, 1).started.add(7);
  pass(1min);
  EXPECT_EQ(of(get_).node_in_flight.count(), 0u) << "get had no call in flight";
  get_.at(Side::kClient, 0).started.add(2);
  get_.at(Side::kClient, 1).started.add(1);
  pass(2min);
  const Observation seen = of(get_);
  EXPECT_EQ(seen.in_flight.count(), 2u);
  EXPECT_EQ(seen.in_flight.at(1), 3u) << "of both workers";
  EXPECT_EQ(seen.node_in_flight.at(1), 10u) << "of all functions and both sides";
  EXPECT_EQ(observations_.of(put_, Side::kServer).in_flight.count(), 3u);
  pass(20min);
  get_.at(Side::kClient, 0).requests[0].add(3);
  EXPECT_EQ(of(get_).in_flight.at(1), 3u);
  pass(20min);
  EXPECT_EQ(of(get_).in_flight.count(), 0u) << "samples leave with their half";
}

}  // namespace
}  // namespace hat
