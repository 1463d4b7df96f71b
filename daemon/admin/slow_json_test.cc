// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/slow_json.h"

#include <gtest/gtest.h>

#include "daemon/admin/fake_control.h"
#include "daemon/metrics/fake_call_record.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SlowJson : public testing::Test {
 protected:
  CallRecord call(Duration took) {
    FunctionMetrics& function = control_.registry.find("Kv", "get");
    return {.counters = &function.at(Side::kClient, 1), .took = took, .peer = "host-b"};
  }
  json only() { return slow_json(control_).at("slow").at(0); }

  FakeControl control_;
};

TEST_F(SlowJson, AReplysTimeIsDividedAmongTheHosts) {
  control_.slow_reports = {{1, 1234.5, answered_call(*call(100ms).counters)}};
  EXPECT_EQ(only(), json({{"unix_time", 1234.5},
                          {"service", "Kv"},
                          {"method", "get"},
                          {"peer", "host-b"},
                          {"worker", 1},
                          {"outcome", "success"},
                          {"reason", nullptr},
                          {"request_protocol", "tcp"},
                          {"reply_protocol", "tcp"},
                          {"request_bytes", 7},
                          {"reply_bytes", 9},
                          {"took_us", 100'000.0},
                          {"waited_us", 10'000.0},
                          {"answered_us", 80'000.0},
                          {"wire_us", 16'000.0},
                          {"peer_us", 24'000.0},
                          {"server_us", 40'000.0},
                          {"reply_us", 10'000.0},
                          {"trace_id", nullptr}}));
}

TEST_F(SlowJson, ACallOfATraceHasItsId) {
  CallRecord slow = call(100ms);
  slow.trace_id.emplace().fill('a');
  control_.slow_reports = {{0, 0, slow}};
  EXPECT_EQ(only().at("trace_id"), std::string(32, 'a'));
}

TEST_F(SlowJson, APeerOfAnOlderVersionLeavesTimesOut) {
  CallRecord slow = call(100ms);
  slow.answered = 80ms;
  control_.slow_reports = {{0, 0, slow}};
  EXPECT_EQ(only().at("answered_us"), 80'000.0);
  EXPECT_EQ(only().at("reply_us"), 20'000.0);
  for (const char* key : {"wire_us", "peer_us", "server_us"}) EXPECT_EQ(only().at(key), nullptr);
}

TEST_F(SlowJson, ACallThatFailedHasItsReason) {
  CallRecord slow = call(100ms);
  slow.waited = 100ms;
  slow.outcome = CallOutcome::kLocalError;
  slow.failure = engine::Failure::kPeerUnreachable;
  slow.peer.clear();
  control_.slow_reports = {{0, 0, slow}};
  EXPECT_EQ(only().at("outcome"), "local_error");
  EXPECT_EQ(only().at("reason"), "peer_unreachable");
  EXPECT_EQ(only().at("peer"), "");
  EXPECT_EQ(only().at("reply_us"), nullptr);
}

// The times of the peer's daemon are what it says they are.
TEST_F(SlowJson, APeerCannotMakeTimesNegative) {
  CallRecord slow = call(100ms);
  slow.answered = 80ms;
  slow.there = engine::ServedTimes{24h, 21h};
  control_.slow_reports = {{0, 0, slow}};
  EXPECT_EQ(only().at("wire_us"), 0.0);
  EXPECT_EQ(only().at("peer_us"), 80'000.0);
  EXPECT_EQ(only().at("server_us"), 0.0);
}

TEST_F(SlowJson, TheSlowestComeFirstAndTheirNumberIsLimited) {
  for (int i = 0; i < 300; ++i) control_.slow_reports.push_back({0, 0, call(1ms * (i * 7 % 300))});
  const json slow = slow_json(control_).at("slow");
  ASSERT_EQ(slow.size(), kSlowCallsMax);
  for (size_t i = 0; i < slow.size(); ++i)
    EXPECT_EQ(slow[i].at("took_us"), 1000.0 * (299.0 - double(i)));
}

TEST_F(SlowJson, ACallWithoutAReplyHasItsPeerAndItsAge) {
  control_.unanswered_reports = {{1, {"Kv", "get", "host-b", WaitsFor::kReply, false, 3, 12s}}};
  const json answer = slow_json(control_);
  EXPECT_EQ(answer.at("slow"), json::array());
  EXPECT_EQ(answer.at("waiting"), json({{{"service", "Kv"},
                                         {"method", "get"},
                                         {"peer", "host-b"},
                                         {"worker", 1},
                                         {"waits_for", "reply"},
                                         {"may_be_oneway", false},
                                         {"calls", 3},
                                         {"oldest_us", 12e6}}}));
  EXPECT_EQ(answer.at("waiting_left_out"), 0);
  EXPECT_EQ(answer.at("workers"), FakeControl::kWorkers);
}

TEST_F(SlowJson, TheOldestWaitingCallsComeFirstAndTheirNumberIsLimited) {
  for (int i = 0; i < 300; ++i) {
    control_.unanswered_reports.push_back({0, {.method = "get", .oldest = 1ms * (i * 7 % 300)}});
  }
  control_.left_out = 5;
  control_.silent_workers = 1;
  const json answer = slow_json(control_);
  const json& waiting = answer.at("waiting");
  ASSERT_EQ(waiting.size(), kWaitingMax);
  for (size_t i = 0; i < waiting.size(); ++i)
    EXPECT_EQ(waiting[i].at("oldest_us"), 1000.0 * (299.0 - double(i)));
  EXPECT_EQ(answer.at("waiting_left_out"), 300 - kWaitingMax + 5);
  EXPECT_EQ(answer.at("workers_silent"), 1);
  EXPECT_EQ(control_.most_reports, kWaitingOfWorker);
}

}  // namespace
}  // namespace hat
