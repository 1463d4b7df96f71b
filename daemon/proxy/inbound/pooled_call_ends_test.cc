// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/pooled_call_ends_test.cc: tests what happens to a shared connection, to its
// callers and to waiting calls when one of them ends.
#include <gmock/gmock.h>

#include "daemon/proxy/inbound/fake_pool.h"
#include "daemon/proxy/inbound/pooled_call.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using thrift::MessageType;

class PooledCallEndsTest : public PooledCallTest {
 protected:
  using PooledCallTest::PooledCallTest;

  void end_of_client(uint32_t stream) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kEnd, .stream = stream}));
  }
  void open(uint32_t stream) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, "Pool"));
  }
  void breaks(const FakeNode::Wire& wire) {
    wire->error = ECONNRESET;
    FakeNode::read(wire);
    if (!wire->closed && wire->reading) wire->notify_readable();
    node_.reactor.end_iteration();
  }
};

TEST_F(PooledCallEndsTest, LeaveNobodyABrokenConnectionAfterAOnewayCall) {
  oneway(1, 1, "note");
  const auto wire = server();
  breaks(wire);
  EXPECT_TRUE(wire->closed);
  call(1, 2, "get");
  ASSERT_EQ(servers(), 2u);
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
}

TEST_F(PooledCallEndsTest, LeaveNobodyAConnectionThatItsServerHasEndedAfterAOnewayCall) {
  oneway(1, 1, "note");
  const auto wire = server();
  wire->end = true;
  FakeNode::read(wire);
  node_.reactor.end_iteration();
  EXPECT_TRUE(wire->closed);
  call(2, 1, "get");
  EXPECT_EQ(servers(), 2u);
}

// The client has gone, and the server refuses the connection for its oneway call. The stream must
// then end, so that a new stream can have its number.
TEST_F(PooledCallEndsTest, EndTheStreamOfAClientThatHasGoneWhereItsServerRefusesAOnewayCall) {
  oneway(1, 1, "note");
  const auto wire = node_.reactor.wires.back();
  end_of_client(1);
  wire->error = ECONNREFUSED;
  wire->events->on_writable();
  node_.reactor.end_iteration();
  EXPECT_TRUE(wire->closed);
  link_->written.clear();
  open(1);
  EXPECT_THAT(ends(), IsEmpty()) << "the number was free";
}

// A part of the server's answer to a oneway call of an unknown function has arrived.
class HalfAStrayTest : public PooledCallEndsTest {
 protected:
  HalfAStrayTest() {
    for (uint32_t stream = 1; stream <= 2; ++stream) oneway(stream, 1, "note");
    wire_ = server(0);
    server(1);
    node_.reactor.end_iteration();
    stray_ = strict_message(MessageType::kException, "note", id_in(wire_->written), with_text(50));
    node_.receive(wire_, stray_.substr(0, 30));
  }
  void rest() { node_.receive(wire_, stray_.substr(30)); }

  FakeNode::Wire wire_;
  std::string stray_;
};

TEST_F(HalfAStrayTest, KeepsItsConnectionFromOthersUntilItsRestHasCome) {
  call(3, 1, "get");
  call(4, 1, "get");
  EXPECT_THAT(requests_in(server(1)->written), testing::SizeIs(2));
  EXPECT_THAT(requests_in(wire_->written), testing::SizeIs(1));
  rest();
  EXPECT_THAT(requests_in(wire_->written), testing::SizeIs(2));
  reply(wire_);
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("4.1 ends", "3.1 ends"));
}

TEST_F(HalfAStrayTest, IsNoPartOfTheReplyToTheNextCallOfTheSameClient) {
  call(1, 2, "get");
  rest();
  reply(wire_);
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
  EXPECT_THAT(answers_, HasSubstr(strict_message(MessageType::kReply, "get", 7)));
}

TEST_F(HalfAStrayTest, IsNoPartOfTheReplyOnAConnectionThatIsItsClientsOwn) {
  call(1, 2, "say");
  rest();
  const std::string answer = strict_message(MessageType::kReply, "say", 7);
  node_.receive(wire_, answer);
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
  EXPECT_THAT(answers_, testing::EndsWith(answer));
  EXPECT_THAT(answers_, Not(HasSubstr("note")));
}

TEST_F(PooledCallEndsTest, GiveAStreamThatHasEndedNoTurn) {
  for (uint32_t stream = 1; stream <= 3; ++stream) call(stream, 1, "get");
  const auto wire = server(0);
  server(1);
  link_->incoming = frame_bytes({.kind = FrameKind::kReset, .stream = 3});
  FakeNode::read(link_);
  // The reply to the call of stream 1 arrives in the same iteration as the kReset frame.
  wire->incoming = strict_message(MessageType::kReply, "get", id_in(wire->written));
  FakeNode::read(wire);
  node_.reactor.end_iteration();
  EXPECT_THAT(requests_in(wire->written), testing::SizeIs(1));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

TEST_F(PooledCallEndsTest, GiveNobodyATurnOfALinkThatHasEnded) {
  for (uint32_t stream = 1; stream <= 4; ++stream) call(stream, 1, "get");
  server(0);
  server(1);
  link_->end = true;
  FakeNode::read(link_);
  node_.reactor.end_iteration();
  EXPECT_EQ(servers(), 2u) << "no connection is made for who waited";
  EXPECT_EQ(node_.counters.upstream.open.value(), 0u);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// Two streams end as soon as the link has space for the rest of their replies.
TEST_F(PooledCallEndsTest, EndStreamsWhileTheLinkTellsThatItHasRoom) {
  link_->space = 0;
  constexpr size_t kStreams =
      engine::TcpLane::kCongestedBytes / (engine::kStreamWindowBytes - 1000) + 1;
  for (uint32_t stream = 10; stream < 10 + kStreams; ++stream) {
    open(stream);
    call(stream, 1, "get");
    reply(server(), with_text(engine::kStreamWindowBytes - 1000));
  }
  for (uint32_t stream = 2; stream <= 3; ++stream) {
    call(stream, 1, "get");
    reply(server(), with_text(1000));
    end_of_client(stream);
  }
  ASSERT_GT(node_.counters.buffered_bytes.value(), 2000u) << "the link is congested";
  link_->space = SIZE_MAX;
  while (link_->writing) {
    link_->events->on_writable();
    node_.reactor.end_iteration();
  }
  EXPECT_THAT(ends(), testing::IsSupersetOf({"2.1 ends", "3.1 ends"}));
  open(2);
  open(3);
  EXPECT_THAT(ends(), IsEmpty()) << "both have ended";
}

// Each oneway call frees its connection as soon as its request is written. If each call then served
// the next waiting call from within, 10 000 calls would be nested on the stack.
TEST_F(PooledCallEndsTest, LetAnyNumberOfOnewayCallsWait) {
  constexpr uint32_t kStreams = 10'000;
  for (uint32_t stream = 1; stream <= 2; ++stream) call(stream, 1, "get");
  const auto wire = server(0);
  server(1);
  for (uint32_t stream = 10; stream < 10 + kStreams; ++stream) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, "Pool"));
    oneway(stream, 1, "note");
  }
  node_.receive(wire, strict_message(MessageType::kReply, "get", id_in(wire->written)));
  EXPECT_THAT(requests_in(wire->written), testing::SizeIs(1 + kStreams));
}

class SmallLimitsTest : public PooledCallEndsTest {
 protected:
  SmallLimitsTest() : PooledCallEndsTest(limits()) {}
  static Limits limits() {
    Limits small = without_pings();
    small.shared_reply_bytes_max = 1024;
    small.buffered_bytes_max = 4u << 20;  // one peer can use a quarter of it
    return small;
  }
};

TEST_F(SmallLimitsTest, AreNoConcernOfACallerThatReads) {
  call(1, 1, "get");
  reply(server(), with_text(50'000));
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
}

TEST_F(SmallLimitsTest, HoldForTheRequestsOfAllStreamsTogether) {
  const std::string half =
      strict_message(MessageType::kCall, "get", 7, with_text(1u << 19)).substr(0, 60'000);
  uint64_t ordinal = 1;
  size_t refused = 0;
  for (uint32_t stream = 10; stream < 40; ++stream) {
    open(stream);
    send(stream, ordinal, "get", half, 1, false);
    for (const std::string& end : ends()) refused += end.ends_with("fails") ? 1u : 0u;
  }
  EXPECT_GT(refused, 5u);
  EXPECT_LE(node_.counters.buffered_bytes.value(), (size_t{1} << 20) + half.size());
  EXPECT_EQ(servers(), 0u);
}

}  // namespace
}  // namespace hat
