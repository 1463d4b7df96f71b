// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/access_log.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using namespace std::chrono_literals;

AccessLogConfig config(uint32_t sample_one_in) {
  return {.path = "access.jsonl", .sample_one_in = sample_one_in, .failed = false};
}

size_t sampled(AccessLog& log, size_t calls) {
  size_t count = 0;
  for (size_t i = 0; i < calls; ++i) count += log.wants(1ms, false) == Logged::kSampled;
  return count;
}

TEST(AccessLog, LogsNothingBeforeItGetsAFile) {
  AccessLog log(1);
  EXPECT_EQ(log.wants(24h, true), std::nullopt);
  AccessLogConfig none = config(1);
  none.path.clear();
  none.failed = true;
  none.slower_than = 1ms;
  log.set(none);
  EXPECT_EQ(log.wants(24h, true), std::nullopt);
}

TEST(AccessLog, SamplesOneOfANumberOfCalls) {
  AccessLog log(7);
  log.set(config(1));
  EXPECT_EQ(sampled(log, 1000), 1000u);
  log.set(config(100));
  EXPECT_NEAR(static_cast<double>(sampled(log, 100'000)), 1000, 100);
  log.set(config(0));
  EXPECT_EQ(sampled(log, 1000), 0u);
}

// The second function of two that are called in turns would otherwise have all lines, or none.
TEST(AccessLog, SamplesCallsThatAlternate) {
  AccessLog log(7);
  log.set(config(10));
  size_t of[2] = {};
  for (size_t i = 0; i < 20'000; ++i) of[i % 2] += log.wants(1ms, false).has_value();
  EXPECT_NEAR(static_cast<double>(of[0]), 1000, 150);
  EXPECT_NEAR(static_cast<double>(of[1]), 1000, 150);
}

TEST(AccessLog, AReloadThatChangesNothingDoesNotDisturbTheSample) {
  AccessLog log(7);
  log.set(config(100));
  size_t count = 0;
  for (size_t i = 0; i < 100'000; ++i) {
    log.set(config(100));
    count += log.wants(1ms, false).has_value();
  }
  EXPECT_NEAR(static_cast<double>(count), 1000, 100);
}

TEST(AccessLog, LogsEachSlowCallAndEachFailedCall) {
  AccessLog log(1);
  AccessLogConfig slow = config(0);
  slow.slower_than = 100ms;
  slow.failed = true;
  log.set(slow);
  EXPECT_EQ(log.wants(100ms, false), std::nullopt);
  EXPECT_EQ(log.wants(101ms, false), Logged::kSlow);
  EXPECT_EQ(log.wants(1ms, true), Logged::kFailed);
  EXPECT_EQ(log.wants(101ms, true), Logged::kSlow);
  slow.failed = false;
  log.set(slow);
  EXPECT_EQ(log.wants(1ms, true), std::nullopt);
  slow.sample_one_in = 1;
  log.set(slow);
  EXPECT_EQ(log.wants(101ms, true), Logged::kSampled) << "or the sample would lack slow calls";
}

TEST(AccessLog, AFullQueueDropsRecordsAndCountsThem) {
  AccessLog log(1);
  log.open();
  log.set(config(1));
  for (size_t i = 0; i < AccessLog::kQueueMax + 3; ++i) {
    log.add({.request_bytes = i}, Logged::kSampled);
  }
  EXPECT_EQ(log.dropped(), 3u);
  EXPECT_EQ(log.pop()->call.request_bytes, 0u);
  log.add({.request_bytes = 77}, Logged::kSlow);
  std::optional<LoggedCall> last;
  while (auto next = log.pop()) last = std::move(next);
  EXPECT_EQ(last->call.request_bytes, 77u);
  EXPECT_EQ(last->why, Logged::kSlow);
}

TEST(AccessLog, OpenKeepsTheRecordsThatWait) {
  AccessLog log(1);
  log.open();
  log.add({}, Logged::kSampled);
  log.open();
  EXPECT_TRUE(log.pop());
}

// Returns how many of a few more than kLinesPerSecond calls, which end at `end`, get lines.
size_t lines_of(AccessLog& log, Logged why, Duration end, bool has_failed) {
  CallRecord call{.began = TimePoint(end - 1ms), .took = 1ms};
  if (has_failed) call.failure = engine::Failure::kDeadlineExceeded;
  for (uint32_t i = 0; i < AccessLog::kLinesPerSecond + 5; ++i) log.add(call, why);
  size_t count = 0;
  while (log.pop()) ++count;
  return count;
}

TEST(AccessLog, LimitsTheLinesOfFailedCallsAndOfSlowCallsInASecond) {
  AccessLog log(1);
  log.open();
  const auto lines = [&](Logged why, Duration end) {
    return lines_of(log, why, end, why == Logged::kFailed);
  };
  EXPECT_EQ(lines(Logged::kFailed, 10s), AccessLog::kLinesPerSecond);
  EXPECT_EQ(log.over_rate(), 5u);
  EXPECT_EQ(lines(Logged::kFailed, 10'999ms), 0u);
  EXPECT_EQ(lines(Logged::kSlow, 10'999ms), AccessLog::kLinesPerSecond) << "has its own bound";
  EXPECT_EQ(lines(Logged::kSampled, 10'999ms), AccessLog::kLinesPerSecond + 5) << "has no bound";
  EXPECT_EQ(lines(Logged::kFailed, 11s), AccessLog::kLinesPerSecond) << "a new second";
  EXPECT_EQ(log.dropped(), 0u);
}

// During an outage, calls fail after their deadlines: they are slow and failed.
TEST(AccessLog, FailedCallsThatAreSlowDoNotDisplaceSlowCalls) {
  AccessLog log(1);
  log.open();
  EXPECT_EQ(lines_of(log, Logged::kSlow, 10s, true), AccessLog::kLinesPerSecond);
  EXPECT_EQ(lines_of(log, Logged::kFailed, 10s, true), 0u) << "both count as failed calls";
  EXPECT_EQ(lines_of(log, Logged::kSlow, 10s, false), AccessLog::kLinesPerSecond);
}

}  // namespace
}  // namespace hat
