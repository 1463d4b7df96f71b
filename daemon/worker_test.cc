#include "daemon/worker.h"

#include <gmock/gmock.h>

#include "daemon/fake_node.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;
using testing::Not;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Framed strict binary with an empty struct.
std::string message(thrift::MessageType type, const std::string& name) {
  const std::string body = big_endian(0x80010000u | static_cast<uint8_t>(type)) +
                           big_endian(static_cast<uint32_t>(name.size())) + name + big_endian(0) +
                           '\0';
  return big_endian(static_cast<uint32_t>(body.size())) + body;
}

std::string open_frame(uint32_t stream) {
  return frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, "Pool");
}

// A stream's first call, whole.
std::string call_frame(uint32_t stream, const std::string& name, uint16_t replies) {
  const engine::CallMeta meta{.name_bytes = static_cast<uint16_t>(name.size())};
  const auto type = replies == 0 ? thrift::MessageType::kOneway : thrift::MessageType::kCall;
  return frame_bytes(
      {.kind = FrameKind::kCall,
       .flags = engine::kLastPiece,
       .replies = replies,
       .stream = stream,
       .call = 1},
      std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + name + message(type, name));
}

TEST(Worker, SurvivesLinksThatEndWhileTheTurnsFramesAreWritten) {
  FakeNode node;
  std::vector<FakeNode::Wire> links;
  for (int i = 0; i < 3; ++i) {
    links.push_back(node.connect_link());
    node.receive(links.back(), hello_bytes("host-b", "host-a"));
  }
  const std::string ping = frame_bytes({.kind = FrameKind::kPing});
  std::string pings;
  while (pings.size() <= engine::TcpLane::kQueuedBytesMax) pings += ping;
  for (const auto& link : links) {
    link->room = link == links[2] ? SIZE_MAX : 0;
    link->incoming = link == links[2] ? ping : pings;
    link->written.clear();
    FakeNode::read(link);  // owes pongs, written at turn's end
  }
  node.reactor.end_turn();
  EXPECT_EQ(links[2]->written, frame_bytes({.kind = FrameKind::kPong}));
  node.reactor.end_turn();
  EXPECT_TRUE(links[0]->closed);
  EXPECT_TRUE(links[1]->closed);
  EXPECT_FALSE(links[2]->closed);
}

TEST(Worker, AnswersAStreamForAServiceThatItDoesNotServe) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Nothing"));
  EXPECT_THAT(link->written, HasSubstr("node host-a serves no 'Nothing'"));
}

TEST(Worker, RefusesAPeerThatTakesItForAnotherNode) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-x"));
  EXPECT_THAT(link->written, HasSubstr("this is node 'host-a', not 'host-x'"));
  node.reactor.end_turn();
  EXPECT_TRUE(link->closed);
}

TEST(Worker, CountsNoBytesOfAStreamThatEndedWhileItWaitedForAPooledConnection) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  for (uint32_t stream = 1; stream <= 3; ++stream) {  // the pool has two connections
    node.receive(link, open_frame(stream) + call_frame(stream, "get", 1));
  }
  EXPECT_GT(node.counters.buffered_bytes.value(), 0u);
  for (uint32_t stream = 3; stream >= 1; --stream) {
    node.receive(link, frame_bytes({.kind = FrameKind::kReset, .stream = stream}));
  }
  node.reactor.end_turn();
  EXPECT_EQ(node.counters.buffered_bytes.value(), 0u);
}

// Stock servers answer a oneway function that they do not know. The answer may come when the
// connection serves another stream already.
TEST(Worker, GivesNoStreamTheAnswerToAnothersOnewayCall) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  const size_t first_upstream = node.reactor.wires.size();
  for (uint32_t stream = 1; stream <= 2; ++stream) {
    node.receive(link, open_frame(stream) + call_frame(stream, "gone", 0));
    const auto upstream = node.reactor.wires.back();
    upstream->events->on_writable();
    node.reactor.end_turn();
  }
  const auto upstream = node.reactor.wires[first_upstream];
  upstream->written.clear();
  node.receive(link, open_frame(3) + call_frame(3, "get", 1));
  ASSERT_EQ(upstream->written, message(thrift::MessageType::kCall, "get"));

  link->written.clear();
  const std::string answer = message(thrift::MessageType::kException, "gone");
  node.receive(upstream, answer.substr(0, 10));
  node.receive(upstream, answer.substr(10) + message(thrift::MessageType::kReply, "get"));
  EXPECT_THAT(link->written, HasSubstr(message(thrift::MessageType::kReply, "get")));
  EXPECT_THAT(link->written, Not(HasSubstr("gone")));
  EXPECT_EQ(node.counters.unsolicited_replies.value(), 1u);
}

// A byte is granted to the stream that sent it, and to nobody else.
TEST(Worker, GivesNoPooledConnectionAwayBeforeItsServerHasTakenAll) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  const size_t first_upstream = node.reactor.wires.size();
  for (uint32_t stream = 1; stream <= 2; ++stream) {  // not connected yet
    node.receive(link, open_frame(stream) + call_frame(stream, "note", 0));
  }
  ASSERT_EQ(node.reactor.wires.size(), first_upstream + 2);
  node.receive(link, open_frame(3) + call_frame(3, "get", 1));
  const auto upstream = node.reactor.wires[first_upstream + 1];
  upstream->room = 10;
  upstream->events->on_writable();
  EXPECT_THAT(upstream->written, Not(HasSubstr("get")));
  upstream->room = SIZE_MAX;
  upstream->events->on_writable();
  EXPECT_EQ(upstream->written, message(thrift::MessageType::kOneway, "note") +
                                   message(thrift::MessageType::kCall, "get"));
}

TEST(Worker, TakesTheFramesThatCameBeforeAWriteToTheLinkFailed) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, open_frame(1) + frame_bytes({.kind = FrameKind::kPing}));
  link->write_error = EPIPE;
  const size_t servers = node.reactor.wires.size();
  FakeNode::read(link);
  link->incoming = frame_bytes({.kind = FrameKind::kPing});
  FakeNode::read(link);  // owes a pong
  node.reactor.end_turn();
  link->incoming = call_frame(1, "get", 1);
  link->tell_readable();
  EXPECT_EQ(node.reactor.wires.size(), servers + 1) << "the call went to the server";
  node.reactor.end_turn();
  EXPECT_TRUE(link->closed);
}

TEST(Worker, RefusesMoreLinksThanMayBeUnknownAtOnce) {
  FakeNode node;
  std::vector<FakeNode::Wire> links;
  const size_t before = node.reactor.wires.size();
  for (int i = 0; i < 1000; ++i) links.push_back(node.connect_link());
  const size_t taken = node.reactor.wires.size() - before;
  EXPECT_GT(taken, 100u);
  EXPECT_LT(taken, 1000u);
  for (size_t i = 0; i < taken; ++i) node.receive(links[i], hello_bytes("host-b", "host-a"));
  node.connect_link();
  EXPECT_EQ(node.reactor.wires.size(), before + taken + 1) << "who is known does not count";
}

TEST(Worker, IsDrainedOnlyOnceTheLinksHaveTakenAll) {
  FakeNode node;
  node.receive(node.peer_wire(), hello_bytes("host-b", ""));
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  for (const auto& wire : {link, node.peer_wire()}) {
    wire->room = 0;
    node.receive(wire, frame_bytes({.kind = FrameKind::kPing}));
  }
  node.worker->begin_drain();
  node.receive(link, frame_bytes({.kind = FrameKind::kGoAway}));
  for (const auto& wire : {link, node.peer_wire()}) {
    EXPECT_FALSE(node.worker->drained());
    wire->room = SIZE_MAX;
    wire->events->on_writable();
  }
  EXPECT_TRUE(node.worker->drained());
}

TEST(Worker, WritesToAPooledConnectionThatLayIdleBeforeItHadConnected) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  // A call without bytes yet, which is then given up: nothing was written.
  const engine::CallMeta meta{.name_bytes = 3};
  node.receive(
      link,
      open_frame(1) +
          frame_bytes({.kind = FrameKind::kCall, .stream = 1, .call = 1},
                      std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + "get"));
  const auto server = node.reactor.wires.back();
  node.receive(link, frame_bytes({.kind = FrameKind::kCancel, .stream = 1, .call = 1}));
  server->events->on_writable();
  ASSERT_FALSE(server->writing);
  node.receive(link, open_frame(2) + call_frame(2, "get", 1));
  ASSERT_EQ(node.reactor.wires.back(), server) << "it was taken again";
  if (server->writing) server->events->on_writable();
  EXPECT_EQ(server->written, message(thrift::MessageType::kCall, "get"));
}

}  // namespace
}  // namespace hat
