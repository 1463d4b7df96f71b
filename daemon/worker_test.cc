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

TEST(Worker, SurvivesALinkThatBreaksWhileTheTurnsFramesAreWritten) {
  FakeNode node;
  std::vector<FakeNode::Wire> links;
  for (int i = 0; i < 3; ++i) {
    links.push_back(node.connect_link());
    node.receive(links.back(), hello_bytes("host-b", "host-a"));
  }
  for (const auto& link : links) link->incoming = frame_bytes({.kind = FrameKind::kPing});
  for (const auto& link : links) FakeNode::read(link);  // each owes a pong, written at turn's end
  links[0]->error = links[1]->error = EPIPE;
  links[2]->written.clear();
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

}  // namespace
}  // namespace hat
