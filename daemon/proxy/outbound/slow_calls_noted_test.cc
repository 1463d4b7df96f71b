// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/slow_calls_noted_test.cc: the parts of a slow call's time.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// The FakePair delivers what its two workers send every 5 ms.
TEST(SlowCallsNoted, ACallHasTheTimesOfBothHosts) {
  FakePair pair;
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply(), 400ms);
  const std::vector<CallRecord> calls = pair.caller().worker->slowest_calls();
  ASSERT_THAT(calls, SizeIs(1));
  const CallRecord& call = calls.front();
  EXPECT_EQ(call.counters->function->method, "get");
  EXPECT_EQ(call.peer, "host-b");
  EXPECT_EQ(call.outcome, CallOutcome::kSuccess);
  EXPECT_EQ(call.request_bytes, get_call().size());
  EXPECT_EQ(call.reply_bytes, get_reply().size());
  EXPECT_NE(call.way.request, Carrier::kNone);
  EXPECT_NE(call.way.reply, Carrier::kNone);
  EXPECT_GE(call.took, 400ms);
  EXPECT_LT(call.took, 460ms);
  EXPECT_LT(call.waited, 10ms);
  ASSERT_TRUE(call.answered);
  EXPECT_LE(*call.answered + call.waited, call.took);
  ASSERT_TRUE(call.there) << "the reply has the times of the server's host";
  EXPECT_LE(call.there->total, *call.answered);
  EXPECT_GE(call.there->total, 390ms);
  EXPECT_EQ(call.there->waited, 0ms) << "the server had the call at once";
  EXPECT_THAT(pair.server().worker->slowest_calls(), IsEmpty()) << "it has no clients";
}

TEST(SlowCallsNoted, ACallThatFailedHasItsFailure) {
  FunctionSpec get{.name = "get"};
  get.hints.both.timeout = 300ms;
  FakePair pair(get);
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(400ms);
  const std::vector<CallRecord> calls = pair.caller().worker->slowest_calls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls.front().failure, engine::Failure::kDeadlineExceeded);
  EXPECT_EQ(calls.front().outcome, CallOutcome::kLocalError);
  EXPECT_EQ(calls.front().peer, "host-b");
  EXPECT_GE(calls.front().took, 300ms);
  EXPECT_LT(calls.front().waited, 10ms);
  EXPECT_FALSE(calls.front().answered);
  EXPECT_FALSE(calls.front().there);
}

TEST(SlowCallsNoted, ACallWhoseClientLeavesIsKept) {
  FakePair pair;
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(200ms);
  client->error = ECONNRESET;
  client->notify_readable();
  pair.pass(10ms);
  const std::vector<CallRecord> calls = pair.caller().worker->slowest_calls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls.front().outcome, CallOutcome::kUnknown);
  EXPECT_EQ(calls.front().peer, "host-b");
}

TEST(SlowCallsNoted, ACallWhoseLinkIsLostHasItsPeer) {
  FakePair pair;
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(100ms);
  pair.caller_link()->end = true;
  pair.caller_link()->notify_readable();
  pair.pass(10ms);
  const std::vector<CallRecord> calls = pair.caller().worker->slowest_calls();
  ASSERT_THAT(calls, SizeIs(1));
  EXPECT_EQ(calls.front().failure, engine::Failure::kLinkLost);
  EXPECT_EQ(calls.front().peer, "host-b");
}

}  // namespace
}  // namespace hat
