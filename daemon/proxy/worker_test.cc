// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/worker.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;
using testing::Not;

std::string big_endian(uint32_t value) {
  return {static_cast<char>(value >> 24), static_cast<char>(value >> 16),
          static_cast<char>(value >> 8), static_cast<char>(value)};
}

// Returns a framed strict binary message with an empty struct.
std::string message(thrift::MessageType type, const std::string& name) {
  const std::string body = big_endian(0x80010000u | static_cast<uint8_t>(type)) +
                           big_endian(static_cast<uint32_t>(name.size())) + name + big_endian(0) +
                           '\0';
  return big_endian(static_cast<uint32_t>(body.size())) + body;
}

std::string open_frame(uint32_t stream) {
  return frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, "Pool");
}

// Returns a kCall frame with the whole request of the first call on this stream.
std::string call_frame(uint32_t stream, const std::string& name, uint16_t replies) {
  const auto type = replies == 0 ? thrift::MessageType::kOneway : thrift::MessageType::kCall;
  return frame_bytes({.kind = FrameKind::kCall,
                      .flags = engine::kLastPiece,
                      .replies = replies,
                      .stream = stream,
                      .call = 1},
                     call_meta(name, 1) + message(type, name));
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
    link->space = link == links[2] ? SIZE_MAX : 0;
    link->incoming = link == links[2] ? ping : pings;
    link->written.clear();
    FakeNode::read(link);  // the worker must answer with kPong frames at the end of the iteration
  }
  node.reactor.end_iteration();
  EXPECT_EQ(links[2]->written, frame_bytes({.kind = FrameKind::kPong}));
  node.reactor.end_iteration();
  EXPECT_TRUE(links[0]->closed);
  EXPECT_TRUE(links[1]->closed);
  EXPECT_FALSE(links[2]->closed);
}

TEST(Worker, AnswersAStreamForAServiceThatItDoesNotServe) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Nothing"));
  EXPECT_THAT(link->written, HasSubstr("node host-a does not serve 'Nothing'"));
}

TEST(Worker, RefusesAPeerThatTakesItForAnotherNode) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-x"));
  EXPECT_THAT(link->written, HasSubstr("this is node 'host-a', not 'host-x'"));
  node.reactor.end_iteration();
  EXPECT_TRUE(link->closed);
}

TEST(Worker, CountsNoBytesOfAStreamThatEndedWhileItWaitedForAPooledConnection) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  for (uint32_t stream = 1; stream <= 3; ++stream) {  // two pooled connections, so one call waits
    node.receive(link, open_frame(stream) + call_frame(stream, "get", 1));
  }
  EXPECT_GT(node.counters.buffered_bytes.value(), 0u);
  for (uint32_t stream = 3; stream >= 1; --stream) {
    node.receive(link, frame_bytes({.kind = FrameKind::kReset, .stream = stream}));
  }
  node.reactor.end_iteration();
  EXPECT_EQ(node.counters.buffered_bytes.value(), 0u);
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
  FakeNode::read(link);  // the worker must answer with a kPong frame
  node.reactor.end_iteration();
  link->incoming = call_frame(1, "get", 1);
  link->notify_readable();
  EXPECT_EQ(node.reactor.wires.size(), servers + 1) << "the call went to the server";
  node.reactor.end_iteration();
  EXPECT_TRUE(link->closed);
}

TEST(Worker, DropsWhoHasLongestNotSaidWhoItIsWhenTooManyConnect) {
  FakeNode node;
  const auto known = node.connect_link();
  node.receive(known, hello_bytes("host-b", "host-a"));
  std::vector<FakeNode::Wire> silent;
  for (int i = 0; i < 1000; ++i) {
    silent.push_back(node.connect_link());
    node.reactor.advance(std::chrono::microseconds(1));
  }
  node.reactor.end_iteration();
  EXPECT_FALSE(known->closed);
  EXPECT_TRUE(silent.front()->closed);
  EXPECT_FALSE(silent.back()->closed);
  const auto open =
      std::ranges::count(silent, false, [](const auto& wire) { return wire->closed; });
  EXPECT_GT(open, 100);
  EXPECT_LT(open, 1000);
}

// The kOpen frame has the longest service name that fits into a frame. The kReset answer contains
// this name and more text, so the daemon must cut the name to make the answer fit.
TEST(Worker, AnswersAStreamForAServiceWithAnEndlessName) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  link->written.clear();
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1},
                                 std::string(engine::kFramePayloadBytesMax, 'x')));
  ASSERT_EQ(headers_in(link->written).size(), 1u);
  EXPECT_EQ(headers_in(link->written)[0].kind, FrameKind::kReset);
  EXPECT_EQ(engine::invalid(headers_in(link->written)[0]), nullptr);
}

TEST(Worker, IsDrainedOnlyOnceTheLinksHaveTakenAll) {
  FakeNode node;
  node.receive(node.peer_wire(), hello_bytes("host-b", ""));
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  for (const auto& wire : {link, node.peer_wire()}) {
    wire->space = 0;
    node.receive(wire, frame_bytes({.kind = FrameKind::kPing}));
  }
  node.worker->begin_drain();
  node.receive(link, frame_bytes({.kind = FrameKind::kGoAway}));
  for (const auto& wire : {link, node.peer_wire()}) {
    EXPECT_FALSE(node.worker->drained());
    wire->space = SIZE_MAX;
    wire->events->on_writable();
  }
  EXPECT_TRUE(node.worker->drained());
}

// --- A peer with a successor, and a worker with one ---

TEST(Worker, BuildsALinkToTheSuccessorOfAPeerThatStillOwesAnAnswer) {
  FakeNode node;
  const auto old_link = node.peer_wire();
  node.receive(old_link, hello_bytes("host-b", ""));
  const std::string call = message(thrift::MessageType::kCall, "get");
  const std::string head = call.substr(0, call.size() - 1);  // without its last byte
  const auto waits = node.connect_client();
  node.receive(waits, call);
  const size_t wires = node.reactor.wires.size();
  old_link->written.clear();
  node.receive(old_link, frame_bytes({.kind = FrameKind::kGoAway}));
  ASSERT_EQ(node.reactor.wires.size(), wires + 1) << "it connects at once";
  const auto new_link = node.reactor.wires.back();
  EXPECT_EQ(headers_in(old_link->written).back().kind, FrameKind::kGoAway) << "it agrees";

  const auto other = node.connect_client();
  node.receive(other, call);
  node.receive(new_link, hello_bytes("host-b", ""));
  EXPECT_THAT(new_link->written, HasSubstr(head));
  EXPECT_THAT(old_link->written, Not(HasSubstr(head)));
  const auto reply =
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "its reply");
  node.receive(old_link, reply);
  EXPECT_EQ(waits->written, "its reply");
  EXPECT_EQ(other->written, "");
  node.receive(new_link, reply);
  EXPECT_EQ(other->written, "its reply");

  EXPECT_EQ(node.worker->link_status()[0].sessions, 2u);
  const size_t before_its_end = node.reactor.wires.size();
  old_link->end = true;
  FakeNode::read(old_link);
  node.reactor.end_iteration();
  node.reactor.advance(std::chrono::seconds(1));
  EXPECT_TRUE(old_link->closed);
  EXPECT_EQ(node.reactor.wires.size(), before_its_end) << "and nothing takes its place";
  EXPECT_EQ(node.worker->link_status()[0].state, engine::LinkState::kUp);
  new_link->written.clear();
  node.receive(waits, call);
  EXPECT_FALSE(waits->closed);
  EXPECT_THAT(new_link->written, HasSubstr(head)) << "whose stream went with the old link";
}

TEST(Worker, EndsALinkFromAPeerWhenNothingIsLeftOnIt) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, open_frame(1) + call_frame(1, "get", 1));
  const auto server = node.reactor.wires.back();
  server->events->on_writable();
  const auto late = node.connect_link();  // its hello has not arrived yet
  link->written.clear();
  late->written.clear();
  node.worker->begin_hand_over(nullptr);
  node.reactor.end_iteration();
  EXPECT_EQ(headers_in(link->written).back().kind, FrameKind::kGoAway);
  EXPECT_EQ(late->written, "") << "nothing comes before the hello";
  node.receive(late, hello_bytes("host-b", "host-a"));
  EXPECT_EQ(headers_in(late->written).back().kind, FrameKind::kGoAway);

  node.receive(link, frame_bytes({.kind = FrameKind::kGoAway}));
  EXPECT_FALSE(link->shut) << "a call is out";
  node.receive(server, message(thrift::MessageType::kReply, "get"));
  node.reactor.end_iteration();
  EXPECT_TRUE(link->shut);
  EXPECT_FALSE(link->closed) << "the peer closes, and loses nothing";
  EXPECT_FALSE(node.worker->handed_over());
  for (const auto& wire : {link, late}) {
    wire->end = true;
    FakeNode::read(wire);
    node.reactor.end_iteration();
  }
  EXPECT_TRUE(node.worker->handed_over());
}

TEST(Worker, LeavesALinkThatCarriesBytesAsTheyAre) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv") +
                         frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "SSH"));
  node.worker->begin_hand_over(nullptr);
  node.receive(link, frame_bytes({.kind = FrameKind::kGoAway}));
  node.reactor.end_iteration();
  EXPECT_FALSE(link->shut);
  node.receive(link, frame_bytes({.kind = FrameKind::kReset, .stream = 1}));
  node.reactor.end_iteration();
  EXPECT_TRUE(link->shut);
}

}  // namespace
}  // namespace hat
