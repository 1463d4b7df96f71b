// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/retries_test.cc: which calls a client's daemon sends again after a failure,
// and where.
#include <gmock/gmock.h>

#include <algorithm>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;
using testing::HasSubstr;
using testing::Not;

// A node with the peers host-b and host-c, which both serve the endpoint's service. Its function
// `get` is not idempotent, `touch` is.
class RetriesTest : public testing::Test {
 protected:
  static Limits patient() {
    Limits limits = without_pings();
    limits.peer_wait = std::chrono::seconds(10);
    return limits;
  }
  explicit RetriesTest(const Limits& limits = patient()) : node_(limits) {
    node_.receive(node_.peer_wire(), hello_bytes("host-b", ""));
    links_.push_back(node_.peer_wire());
    NodeConfig next = node_.worker->node();
    next.peers.push_back({"host-c", *parse_address("tcp:127.0.0.1:9467"), {}});
    next.endpoints[0].peers.push_back("host-c");
    node_.set_node(next);
    links_.push_back(node_.reactor.wires.back());
    node_.receive(links_[1], hello_bytes("host-c", ""));
    node_.reactor.end_iteration();
    client_ = node_.connect_client();
  }

  // Lets the client make a call of `function`. Returns the index of the link that carries it.
  size_t call(const std::string& function = "get", size_t bytes = 0) {
    request_ =
        strict_message(thrift::MessageType::kCall, function, 1,
                       bytes == 0 ? std::string(1, '\0') : with_text(static_cast<uint32_t>(bytes)));
    node_.receive(client_, request_);
    node_.reactor.end_iteration();
    return taken();
  }
  // Lets the client make a oneway call. Returns the index of the link that carries it.
  size_t send_oneway() {
    request_ = strict_message(thrift::MessageType::kOneway, "note", 5);
    node_.receive(client_, request_);
    node_.reactor.end_iteration();
    return taken();
  }
  // Returns the index of the link that has carried a call since the last call of this function;
  // returns 2 if none has.
  size_t taken() {
    size_t link = 2;
    for (size_t i = 0; i < links_.size(); ++i) {
      const std::string written = std::exchange(links_[i]->written, "");
      for (const FrameHeader& header : headers_in(written)) {
        if (header.kind != FrameKind::kCall) continue;
        EXPECT_EQ(link, 2u) << "both links carry the call";
        if (request_.size() < 1000) {
          EXPECT_THAT(written, HasSubstr(request_)) << "all of it";
        }
        link = i;
        stream_ = header.stream;
      }
    }
    return link;
  }
  // Lets the peer report a failure of the call that taken() has found.
  void report(size_t link, Failure failure, bool delivered, FrameKind kind = FrameKind::kFail,
              uint64_t call = 1) {
    const engine::FailMeta meta{failure, static_cast<uint8_t>(delivered)};
    node_.receive(links_[link],
                  frame_bytes({.kind = kind, .replies = 1, .stream = stream_, .call = call},
                              std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
    node_.reactor.end_iteration();
  }
  void answer(size_t link) {
    const FrameHeader header{
        .kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = stream_, .call = 1};
    node_.receive(links_[link], frame_bytes(header, "reply"));
    node_.reactor.end_iteration();
  }
  void cut(size_t link) {
    links_[link]->error = ECONNRESET;
    links_[link]->events->on_readable();
    node_.reactor.end_iteration();
  }

  // Lets the client make a call, and cuts both links, so that the call waits to be sent again.
  void wait_with(const std::string& function) {
    cut(1);
    ASSERT_EQ(call(function), 0u);
    cut(0);
  }
  // Lets the link to host-b come up again.
  void reconnect() {
    node_.reactor.advance(std::chrono::milliseconds(100));
    for (const auto& wire : node_.reactor.wires) {
      if (wire->address == "tcp:127.0.0.1:9465" && !wire->closed) links_[0] = wire;
    }
    node_.receive(links_[0], hello_bytes("host-b", ""));
    node_.reactor.end_iteration();
  }

  FakeNode node_;
  std::vector<FakeNode::Wire> links_;
  FakeNode::Wire client_;
  std::string request_;
  uint32_t stream_ = 0;  // of the call that taken() has found last
};

TEST_F(RetriesTest, ACallThatAPeerRefusesGoesToAnotherOne) {
  const size_t first = call();
  report(first, Failure::kUpstreamUnreachable, false);
  const size_t second = taken();
  ASSERT_EQ(second, 1 - first);
  EXPECT_EQ(client_->written, "");
  answer(second);
  EXPECT_EQ(client_->written, "reply");
}

TEST_F(RetriesTest, ARefusalOfTheStreamCountsToo) {
  const size_t first = call();
  report(first, Failure::kUnknownService, false, FrameKind::kReset);
  EXPECT_EQ(taken(), 1 - first);
}

TEST_F(RetriesTest, IfAllPeersRefuseTheCallFailsWithTheLastReason) {
  const size_t first = call();
  report(first, Failure::kUpstreamUnreachable, false);
  ASSERT_EQ(taken(), 1 - first);
  report(1 - first, Failure::kOverloaded, false);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("overloaded"));
}

TEST_F(RetriesTest, ACallThatTheServerMayHaveSeenIsNotSentAgain) {
  const size_t first = call();
  report(first, Failure::kUpstreamClosed, true);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
}

TEST_F(RetriesTest, ALinkThatBreaksEndsTheCall) {
  const size_t first = call();
  cut(first);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("link_lost"));
}

TEST_F(RetriesTest, AnIdempotentCallIsSentAgainAfterALoss) {
  const size_t first = call("touch");
  cut(first);
  const size_t second = taken();
  ASSERT_EQ(second, 1 - first);
  report(second, Failure::kUpstreamClosed, true);
  EXPECT_EQ(taken(), second) << "no other peer can be reached";
  answer(second);
  EXPECT_EQ(client_->written, "reply");
}

TEST_F(RetriesTest, AFailureTellsThatAnEarlierAttemptMayHaveArrived) {
  const size_t first = call("touch");
  cut(first);
  const size_t second = taken();
  ASSERT_EQ(second, 1 - first);
  report(second, Failure::kOverloaded, false);
  EXPECT_THAT(client_->written, HasSubstr("link_lost: the server may have seen the call; it was "
                                          "sent again, and then failed with overloaded"));
}

TEST_F(RetriesTest, ACallIsSentThreeTimesAtMost) {
  size_t link = call("touch");
  for (int i = 0; i < 2; ++i) {
    report(link, Failure::kUpstreamClosed, true);
    link = taken();
    ASSERT_LT(link, 2u);
  }
  report(link, Failure::kUpstreamClosed, true);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
}

TEST_F(RetriesTest, AClientWithAServerOfItsOwnStaysThere) {
  const size_t first = call("touch");
  node_.receive(links_[first], frame_bytes({.kind = FrameKind::kBound, .stream = stream_}));
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("upstream_unreachable"));
}

TEST_F(RetriesTest, PipelinedCallsAreNotSentAgain) {
  const size_t first = call();
  node_.receive(client_, strict_message(thrift::MessageType::kCall, "get", 2));
  node_.reactor.end_iteration();
  for (const auto& link : links_) link->written.clear();
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("upstream_unreachable"));
}

TEST_F(RetriesTest, ARequestThatIsTooLargeToKeepIsNotSentAgain) {
  const size_t first = call("get", node_.worker->node().limits.retry_request_bytes_max);
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_THAT(client_->written, HasSubstr("upstream_unreachable"));
}

TEST_F(RetriesTest, AReplyThatHasBegunEndsTheChance) {
  const size_t first = call("touch");
  node_.receive(links_[first],
                frame_bytes({.kind = FrameKind::kReply, .stream = stream_, .call = 1}, "re"));
  cut(first);
  EXPECT_EQ(taken(), 2u);
  EXPECT_TRUE(client_->aborted) << "a reply that was cut cannot be completed";
}

TEST_F(RetriesTest, ACallWaitsForALinkAndTheNextRequestForTheCall) {
  const std::string next = strict_message(thrift::MessageType::kCall, "get", 7);
  wait_with("touch");
  node_.receive(client_, next);
  EXPECT_EQ(client_->written, "");
  reconnect();
  FakeNode::read(client_);
  node_.reactor.end_iteration();
  const std::string written = links_[0]->written;
  EXPECT_THAT(written, HasSubstr(request_));
  EXPECT_THAT(written, HasSubstr(next));
  EXPECT_LT(written.find(request_), written.find(next));
}

TEST_F(RetriesTest, AfterItsDeadlineAWaitingCallFailsAndTheNextOneIsCarried) {
  wait_with("touch");
  node_.reactor.advance(std::chrono::seconds(1));  // the timeout of `touch`
  EXPECT_THAT(std::exchange(client_->written, ""), HasSubstr("deadline_exceeded"));
  reconnect();
  EXPECT_EQ(call(), 0u);
  answer(0);
  EXPECT_EQ(client_->written, "reply");
}

TEST_F(RetriesTest, AClientThatHasSentItsEndGetsTheAnswer) {
  wait_with("touch");
  client_->end = true;
  reconnect();
  FakeNode::read(client_);
  node_.reactor.end_iteration();
  EXPECT_EQ(taken(), 0u);
  answer(0);
  EXPECT_EQ(client_->written, "reply");
  EXPECT_TRUE(client_->closed);
}

TEST_F(RetriesTest, ACallAfterAOnewayCallStaysAtItsPeer) {
  const size_t first = send_oneway();
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "a oneway call is not kept";
  EXPECT_EQ(call(), first);
  report(first, Failure::kOverloaded, false, FrameKind::kFail, 2);
  EXPECT_EQ(taken(), 2u) << "the oneway call may still wait there";
  EXPECT_THAT(client_->written, HasSubstr("overloaded"));
}

TEST_F(RetriesTest, TheReplyToAnEarlierCallDoesNotShowThatAOnewayCallWasExecuted) {
  const size_t first = call();
  ASSERT_EQ(send_oneway(), first);
  answer(first);
  EXPECT_EQ(call(), first);
  report(first, Failure::kOverloaded, false, FrameKind::kFail, 3);
  EXPECT_EQ(taken(), 2u) << "the oneway call may still wait there";
}

TEST_F(RetriesTest, AnUnusedBudgetGrowsWithCallsAndTime) {
  RetryBudget budget;
  TimePoint now{std::chrono::hours(1)};
  uint32_t taken = 0;
  while (budget.take(now)) ++taken;
  EXPECT_EQ(taken, RetryBudget::kMost);
  for (int i = 0; i < 10; ++i) budget.note_call(20);
  EXPECT_TRUE(budget.take(now) && budget.take(now));
  EXPECT_FALSE(budget.take(now));
  // Asks at other times than multiples of the time in which a part of a retry is earned.
  taken = 0;
  for (const TimePoint end = now + std::chrono::seconds(10); now < end;
       now += std::chrono::microseconds(1900)) {
    if (budget.take(now)) ++taken;
  }
  EXPECT_NEAR(taken, 10 * RetryBudget::kPerSecond, 1);
}

TEST_F(RetriesTest, AFrameWithSeveralMessagesIsNotSentAgain) {
  const std::string touch = strict_message(thrift::MessageType::kCall, "touch", 1).substr(4);
  const std::string get = strict_message(thrift::MessageType::kCall, "get", 2).substr(4);
  request_ = length_word(static_cast<uint32_t>(touch.size() + get.size())) + touch + get;
  node_.receive(client_, request_);
  node_.reactor.end_iteration();
  const size_t first = taken();
  ASSERT_LT(first, 2u);
  cut(first);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("link_lost"));
}

TEST_F(RetriesTest, ADeniedCallIsNotSentAgain) {
  const size_t first = call("touch");
  report(first, Failure::kPermissionDenied, false);
  EXPECT_EQ(taken(), 2u);
  EXPECT_THAT(client_->written, HasSubstr("permission_denied"));
}

TEST_F(RetriesTest, BeyondTheBudgetCallsFail) {
  while (node_.worker->retries().take(node_.reactor.now())) {
  }
  const size_t first = call();
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_THAT(client_->written, HasSubstr("upstream_unreachable"));
  EXPECT_EQ(node_.counters.retries_refused.value(), 1u);
}

TEST_F(RetriesTest, TheDeadlineOfTheCallStays) {
  const size_t first = call();  // its timeout is 1 s
  node_.reactor.advance(std::chrono::milliseconds(900));
  report(first, Failure::kUpstreamUnreachable, false);
  ASSERT_EQ(taken(), 1 - first);
  node_.reactor.advance(std::chrono::milliseconds(101));
  EXPECT_THAT(client_->written, HasSubstr("deadline_exceeded"));
}

TEST_F(RetriesTest, NoBytesStayCounted) {
  const size_t first = call();
  EXPECT_EQ(node_.counters.buffered_bytes.value(), request_.size());
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), request_.size());
  answer(1 - first);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

class NoRetriesTest : public RetriesTest {
 protected:
  NoRetriesTest() : RetriesTest(limits()) {}
  static Limits limits() {
    Limits limits = without_pings();
    limits.retry_percent = 0;
    return limits;
  }
};

TEST_F(NoRetriesTest, NothingIsKeptOrSentAgain) {
  const size_t first = call("touch");
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
  report(first, Failure::kUpstreamUnreachable, false);
  EXPECT_THAT(client_->written, HasSubstr("upstream_unreachable"));
}

TEST(RetryBudgetTest, GivesAPartOfTheCallsAndSomeInASecond) {
  RetryBudget budget;
  TimePoint now = TimePoint(std::chrono::hours(1));
  uint32_t taken = 0;
  while (budget.take(now)) ++taken;
  EXPECT_EQ(taken, RetryBudget::kMost) << "a full budget at the start";
  for (int i = 0; i < 10; ++i) budget.note_call(20);
  EXPECT_TRUE(budget.take(now));
  EXPECT_TRUE(budget.take(now));
  EXPECT_FALSE(budget.take(now));
  now += std::chrono::milliseconds(100);
  EXPECT_TRUE(budget.take(now));
  EXPECT_FALSE(budget.take(now));
}

}  // namespace
}  // namespace hat
