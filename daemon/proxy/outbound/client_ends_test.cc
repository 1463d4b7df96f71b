// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_ends_test.cc: tests calls that may be oneway, because no manifest
// lists their functions, and how a client connection ends.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"
#include "daemon/proxy/outbound/client_connection.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using thrift::MessageType;

// Returns a framed strict binary message with an empty struct; `name` has three letters.
std::string message(const std::string& name, MessageType type = MessageType::kCall) {
  std::string bytes("\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);
  bytes[7] = static_cast<char>(type);
  return bytes.replace(12, 3, name);
}

FrameHeader no_reply(uint64_t call) {
  return {.kind = FrameKind::kReply,
          .flags = engine::kLastPiece | engine::kNoReply,
          .stream = 1,
          .call = call};
}

bool holds(const std::string& frames, FrameKind kind) {
  return std::ranges::any_of(headers_in(frames),
                             [&](const FrameHeader& header) { return header.kind == kind; });
}

// FakeNode's manifest lists get (two-way, with a time-out of 1 s). It does not list "say" and
// "ask".
class PossibleCallTest : public testing::Test {
 protected:
  PossibleCallTest() {
    node_.receive(peer_, hello_bytes("host-b", ""));
    client_ = node_.connect_client();
    peer_->written.clear();
  }
  void call(const std::string& name) { node_.receive(client_, message(name)); }
  void answer(uint64_t call, const std::string& reply) {
    node_.receive(
        peer_,
        frame_bytes(
            {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = call},
            reply));
  }
  void fails(uint64_t call) {
    const engine::FailMeta meta{engine::Failure::kUpstreamClosed, 1};
    node_.receive(peer_,
                  frame_bytes({.kind = FrameKind::kFail, .stream = 1, .call = call},
                              std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
  }
  void client_says_end() {
    client_->end = true;
    FakeNode::read(client_);
    node_.reactor.end_iteration();
  }
  const FunctionCounters& other() {
    return node_.metrics.find("Kv", "_other").at(Side::kClient, 0);
  }
  uint64_t in_flight() {
    uint64_t ended = 0;
    for (const Counter& outcome : other().requests) ended += outcome.value();
    return other().started.value() - ended;
  }

  // Returns limits with which the link stays up although the peer answers no ping.
  static Limits limits() {
    Limits limits = default_limits();
    limits.keepalive_timeout = std::chrono::hours(1);
    return limits;
  }

  FakeNode node_{limits()};
  FakeNode::Wire peer_ = node_.peer_wire();
  FakeNode::Wire client_;
};

TEST_F(PossibleCallTest, EndsWithoutAReplyWhereThePeerSaysSo) {
  call("say");
  call("ask");
  node_.receive(peer_, frame_bytes(no_reply(1)));
  answer(2, "its reply");
  EXPECT_EQ(client_->written, "its reply");
  EXPECT_EQ(in_flight(), 0u);
  EXPECT_EQ(other().requests[static_cast<size_t>(CallOutcome::kOneway)].value(), 1u);
  call("ask");
  answer(3, "another");
  EXPECT_EQ(client_->written, "its replyanother");
}

TEST_F(PossibleCallTest, IsAnsweredAllTheSameWhereThisManifestListsItAsTwoWay) {
  call("get");
  call("ask");
  node_.receive(peer_, frame_bytes(no_reply(1)));
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
}

TEST_F(PossibleCallTest, CutsTheConnectionWhereThePeerEndsAReplyThatHasBegunSo) {
  call("ask");
  node_.receive(peer_,
                frame_bytes({.kind = FrameKind::kReply, .stream = 1, .call = 1}, "half of it"));
  node_.receive(peer_, frame_bytes(no_reply(1)));
  EXPECT_TRUE(client_->aborted) << "half of a reply must not look like its end";
}

TEST_F(PossibleCallTest, PassesTheApplicationsEndOnAndEndsWithThePeersWord) {
  call("say");
  client_says_end();
  EXPECT_TRUE(holds(peer_->written, FrameKind::kEnd));
  EXPECT_FALSE(client_->closed) << "it may be two-way";
  node_.receive(peer_, frame_bytes(no_reply(1)));
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->aborted);
  EXPECT_EQ(client_->written, "");
  EXPECT_EQ(in_flight(), 0u);
}

TEST_F(PossibleCallTest, IsWaitedForOnlySoLongAfterTheApplicationsEnd) {
  call("say");
  client_says_end();
  node_.reactor.advance(ClientConnection::kServerEndWait - std::chrono::seconds(1));
  EXPECT_FALSE(client_->closed);
  node_.reactor.advance(std::chrono::seconds(2));
  EXPECT_TRUE(client_->closed);
  EXPECT_TRUE(holds(peer_->written, FrameKind::kReset)) << "the server's goes too";
  EXPECT_EQ(in_flight(), 0u);
  EXPECT_EQ(node_.counters.connections_open.value(), 0u);
}

TEST_F(PossibleCallTest, BecomesBytesWhereAsManyAreOutAsMayBe) {
  const auto limit = node_.worker->node().limits.calls_per_connection_max;
  for (uint32_t i = 0; i < limit; ++i) call("say");
  EXPECT_EQ(headers_in(peer_->written).back().kind, FrameKind::kRaw);
  EXPECT_EQ(node_.counters.opaque_streams.value(), 1u);
  peer_->written.clear();
  for (uint32_t i = 0; i < limit; ++i) call("say");
  EXPECT_EQ(headers_in(peer_->written).size(), limit) << "it reads on";
  answer(1, "a late reply");
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, ", and more"));
  EXPECT_EQ(client_->written, "a late reply, and more");
  client_says_end();
  EXPECT_EQ(headers_in(peer_->written).back().kind, FrameKind::kEnd);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(in_flight(), 0u);
}

TEST_F(PossibleCallTest, StaysACallWhereOneThatIsOutHasAReply) {
  const auto limit = node_.worker->node().limits.calls_per_connection_max;
  call("get");
  for (uint32_t i = 0; i < 2 * limit; ++i) call("say");
  EXPECT_EQ(node_.counters.opaque_streams.value(), 0u);
  answer(1, "its reply");
  EXPECT_EQ(client_->written, "its reply");
  node_.receive(client_, "");
  EXPECT_EQ(node_.counters.opaque_streams.value(), 1u) << "now nothing else makes room";
}

TEST_F(PossibleCallTest, ClosesTheConnectionAfterTheAnswerWhereItFailed) {
  call("say");
  call("ask");
  peer_->end = true;  // the link breaks
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  EXPECT_THAT(client_->written, HasSubstr("hatrpcd: link_lost"));
  EXPECT_TRUE(client_->shut) << "a caller that sent it as oneway must read nothing after that";
  EXPECT_FALSE(client_->closed) << "a close with bytes unread would destroy the answers";
  node_.receive(client_, message("ask"));
  EXPECT_THAT(client_->incoming, IsEmpty()) << "dropped";
  client_says_end();
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->aborted);
}

TEST_F(PossibleCallTest, HoldsUpAFailureBehindItOnlySoLong) {
  call("say");
  call("get");
  node_.reactor.advance(std::chrono::milliseconds(1500));  // more than the time-out of `get`
  EXPECT_FALSE(client_->shut) << "the server may yet reply to say";
  node_.reactor.advance(ClientConnection::kServerEndWait);
  EXPECT_EQ(client_->written, "") << "a reply to say may be the next that the caller reads";
  EXPECT_TRUE(client_->shut);
  EXPECT_FALSE(client_->aborted);
  EXPECT_TRUE(holds(peer_->written, FrameKind::kReset));
  EXPECT_EQ(in_flight(), 0u);
}

TEST_F(PossibleCallTest, HoldsUpAFailureOnlySoLongOnceThoseBeforeHaveTheirReplies) {
  call("get");
  call("say");
  call("ask");
  fails(3);
  EXPECT_FALSE(client_->shut) << "get has a reply for sure";
  answer(1, "its reply");
  EXPECT_EQ(client_->written, "its reply");
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
}

TEST_F(PossibleCallTest, LetsAFailureBehindItWaitForItsReplyThatHasBegun) {
  call("ask");
  node_.receive(peer_,
                frame_bytes({.kind = FrameKind::kReply, .stream = 1, .call = 1}, "half of it"));
  call("get");
  fails(2);
  EXPECT_FALSE(client_->shut);
  node_.receive(
      peer_,
      frame_bytes({.kind = FrameKind::kMore, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "."));
  EXPECT_THAT(client_->written, HasSubstr("half of it."));
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
}

// After it has answered the failed call, the daemon reads no more from the client, so it does not
// notice the client's FIN. It must end the connection when kServerEndWait has passed.
TEST_F(PossibleCallTest, IsWaitedForOnlySoLongAfterTheFailureOfOneBefore) {
  call("say");
  call("say");
  fails(1);
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
  EXPECT_FALSE(client_->shut) << "it may be two-way";
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
  EXPECT_EQ(in_flight(), 0u);
  client_says_end();
  EXPECT_TRUE(client_->closed);
}

TEST_F(PossibleCallTest, WritesNothingWhereTheEndWithoutAReplyComesAfterItBecameBytes) {
  const auto limit = node_.worker->node().limits.calls_per_connection_max;
  for (uint32_t i = 0; i < limit; ++i) call("say");
  ASSERT_EQ(node_.counters.opaque_streams.value(), 1u);
  client_->write_error = EPIPE;  // even an empty write would fail and end the connection
  node_.receive(peer_, frame_bytes(no_reply(1)));
  EXPECT_FALSE(client_->closed);
}

TEST_F(PossibleCallTest, IsWaitedForAsLongAsItTakesWhereTheServerSpeaksInBytes) {
  call("ask");
  client_says_end();
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "bytes"));
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_FALSE(client_->shut);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, ", and more"));
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  EXPECT_EQ(client_->written, "bytes, and more");
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->aborted);
}

TEST_F(PossibleCallTest, LingersOnlySoLong) {
  call("say");
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  ASSERT_TRUE(client_->shut);
  node_.reactor.advance(ClientConnection::kLingerTime + std::chrono::milliseconds(100));
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(node_.counters.connections_open.value(), 0u);
}

// All functions of the service have a time-out, also those that no manifest lists.
class TimedPossibleCallTest : public PossibleCallTest {
 protected:
  TimedPossibleCallTest() {
    ServiceSpec service{.name = "Kv"};
    service.hints.both.timeout = std::chrono::seconds(1);
    node_.worker->set_routes(
        std::make_shared<RoutingTable>(2, Manifest{"", {service}}, std::vector<std::string>{"Pool"},
                                       engine::HostFacts{8, 8, false, "none is here"},
                                       node_.metrics, node_.worker->node().serves));
  }
};

TEST_F(TimedPossibleCallTest, EndsTheConnectionWithoutAnAnswer) {
  call("ask");
  answer(1, "its reply");
  call("say");
  peer_->written.clear();
  node_.reactor.advance(std::chrono::milliseconds(1500));
  EXPECT_EQ(client_->written, "its reply");
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
  EXPECT_FALSE(client_->aborted) << "an answer that is on its way must come";
  EXPECT_TRUE(holds(peer_->written, FrameKind::kReset));
  EXPECT_EQ(in_flight(), 0u);
  client_says_end();
  EXPECT_TRUE(client_->closed);
}

TEST_F(TimedPossibleCallTest, EndsTheConnectionAlsoWhereAnswersAreStillToBeWritten) {
  call("ask");
  client_->space = 3;
  answer(1, "its reply");
  call("say");
  node_.reactor.advance(std::chrono::milliseconds(1500));
  EXPECT_FALSE(client_->shut);
  client_->space = SIZE_MAX;
  client_->events->on_writable();
  EXPECT_EQ(client_->written, "its reply");
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
}

// The third call waits for the new link until the calls on the old link are answered, which never
// happens.
TEST(PossibleCalls, AreWaitedForOnlySoLongAlsoWhereACallBehindThemHasNotBeenSent) {
  Limits limits = default_limits();
  limits.keepalive_interval = limits.keepalive_timeout = std::chrono::hours(1);
  FakeNode node(limits);
  const auto peer = node.peer_wire();
  node.receive(peer, hello_bytes("host-b", ""));
  const auto client = node.connect_client();
  node.receive(client, message("say") + message("get"));
  node.receive(peer, frame_bytes({.kind = FrameKind::kGoAway}));
  node.receive(node.reactor.wires.back(), hello_bytes("host-b", ""));
  node.receive(client, message("ask"));
  EXPECT_THAT(peer->written, Not(HasSubstr(message("ask"))));
  node.reactor.advance(std::chrono::seconds(2));  // more than the time-out of `get`
  EXPECT_FALSE(client->shut);
  node.reactor.advance(ClientConnection::kServerEndWait);
  EXPECT_TRUE(client->shut);
  EXPECT_EQ(client->written, "");
}

// --- Streams that are bound to a connection to the server ---

class BoundTest : public PossibleCallTest {
 protected:
  void bind() { node_.receive(peer_, frame_bytes({.kind = FrameKind::kBound, .stream = 1})); }
  void server_ends() { node_.receive(peer_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1})); }
  void link_breaks() {
    peer_->end = true;
    FakeNode::read(peer_);
    node_.reactor.end_iteration();
  }
};

TEST_F(BoundTest, EndWithTheServerThatIsIdle) {
  call("get");
  bind();
  answer(1, "its reply");
  EXPECT_FALSE(client_->shut);
  server_ends();
  EXPECT_EQ(client_->written, "its reply");
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
  client_says_end();
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->aborted);
}

TEST_F(BoundTest, EndOnlyAfterTheAnswersToCallsThatCrossedTheServersEnd) {
  call("get");
  bind();
  answer(1, "its reply");
  call("get");
  call("get");
  server_ends();
  EXPECT_FALSE(client_->shut);
  fails(2);
  EXPECT_FALSE(client_->shut);
  fails(3);
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed"));
  EXPECT_TRUE(client_->shut);
}

TEST_F(BoundTest, EndWithTheirLinkAfterTheAnswers) {
  call("get");
  bind();
  answer(1, "its reply");
  call("get");
  link_breaks();
  EXPECT_THAT(client_->written, HasSubstr("hatrpcd: link_lost"));
  EXPECT_TRUE(client_->shut);
}

TEST_F(BoundTest, EndWithTheirLinkAlsoWhereTheyAreIdle) {
  call("get");
  bind();
  answer(1, "its reply");
  link_breaks();
  EXPECT_EQ(client_->written, "its reply");
  node_.reactor.advance(ClientConnection::kServerEndWait + std::chrono::seconds(1));
  EXPECT_TRUE(client_->shut);
}

TEST_F(BoundTest, AreNotAllThatThereAre) {
  call("get");
  answer(1, "its reply");  // the peer sends no kBound, so the stream is not bound
  link_breaks();
  EXPECT_FALSE(client_->shut) << "another stream does as well";
}

}  // namespace
}  // namespace hat
