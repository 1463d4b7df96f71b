// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_deadlines_test.cc: the client's own time-out, which it sends in
// THeader's info header `client_timeout`.
#include <gmock/gmock.h>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using namespace std::chrono_literals;
using namespace std::string_literals;

std::string big_endian32(size_t value) {
  std::string bytes;
  for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift);
  return bytes;
}

// Returns a call of `function` under THeader, with the info header `client_timeout`.
std::string call_with(const std::string& timeout, const std::string& function,
                      thrift::MessageType type = thrift::MessageType::kCall) {
  std::string words =
      "\0\0\1\1\x0e"s + "client_timeout" + static_cast<char>(timeout.size()) + timeout;
  words.resize((words.size() + 3) / 4 * 4);
  const std::string message = "\x80\1\0"s + static_cast<char>(type) +
                              big_endian32(function.size()) + function + big_endian32(1) + "\0"s;
  const std::string body =
      "\x0f\xff\0\0\0\0\0\1\0"s + static_cast<char>(words.size() / 4) + words + message;
  return big_endian32(body.size()) + body;
}

// The node's manifest gives Kv.get a time-out of 1 s, and Pool.get none. Pool.note is oneway.
class ClientDeadlinesTest : public testing::Test {
 protected:
  ClientDeadlinesTest() : node_(without_pings()) {
    node_.receive(peer_, hello_bytes("host-b", ""));
    client_ = node_.connect_client();
    peer_->written.clear();
  }

  FakeNode node_;
  FakeNode::Wire peer_ = node_.peer_wire();
  FakeNode::Wire client_;
};

TEST_F(ClientDeadlinesTest, AnswersWhenTheClientsTimeIsOver) {
  const std::string request = call_with("250", "get");
  node_.receive(client_, request);
  EXPECT_THAT(peer_->written, HasSubstr(request)) << "the server gets the request unchanged";
  node_.reactor.advance(255ms);
  EXPECT_EQ(client_->written, "");
  node_.reactor.advance(1ms);
  EXPECT_THAT(
      client_->written,
      HasSubstr("deadline_exceeded: no reply within the client's client_timeout of 250 ms"));
  EXPECT_THAT(kinds_in(peer_->written), Contains(FrameKind::kCancel));
}

TEST_F(ClientDeadlinesTest, BoundsACallThatHasNoOtherTimeout) {
  node_.receive(client_, call_with("3000", "Pool:get"));
  node_.reactor.advance(2999ms);
  EXPECT_EQ(client_->written, "");
  node_.reactor.advance(1s);
  EXPECT_THAT(client_->written, HasSubstr("client_timeout of 3000 ms"));
}

TEST_F(ClientDeadlinesTest, GivesWayToAShorterTimeoutOfTheHints) {
  node_.receive(client_, call_with("5000", "get"));
  node_.reactor.advance(999ms);
  EXPECT_EQ(client_->written, "");
  node_.reactor.advance(1ms);
  EXPECT_THAT(client_->written, HasSubstr("no reply within the function's timeout_ms"));
}

TEST_F(ClientDeadlinesTest, EndsWithTheReply) {
  node_.receive(client_, call_with("250", "get"));
  node_.receive(
      peer_,
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "the reply"));
  node_.reactor.advance(10s);
  EXPECT_EQ(client_->written, "the reply");
}

TEST_F(ClientDeadlinesTest, IsForOneCallOnly) {
  node_.receive(client_, call_with("250", "Pool:get"));
  node_.reactor.advance(300ms);
  client_->written.clear();
  node_.receive(client_, call_with("x", "Pool:get"));
  node_.reactor.advance(10s);
  EXPECT_EQ(client_->written, "");
}

TEST_F(ClientDeadlinesTest, ChangesNothingForAOnewayCall) {
  node_.receive(client_, call_with("250", "Pool:note", thrift::MessageType::kOneway));
  node_.reactor.advance(10s);
  EXPECT_EQ(client_->written, "");
  EXPECT_FALSE(client_->closed);
  EXPECT_THAT(kinds_in(peer_->written), Not(Contains(FrameKind::kCancel)));
}

// The call may be oneway. A client that waits for no reply must keep its connection.
TEST_F(ClientDeadlinesTest, ChangesNothingForACallThatMayBeOneway) {
  node_.receive(client_, call_with("250", "unlisted"));
  node_.reactor.advance(10s);
  EXPECT_FALSE(client_->closed);
  EXPECT_THAT(kinds_in(peer_->written), Not(Contains(FrameKind::kCancel)));
}

TEST_F(ClientDeadlinesTest, EndsTheWaitForALink) {
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  node_.receive(client_, call_with("100", "get"));
  node_.reactor.advance(111ms);
  EXPECT_EQ(client_->written, "");
  node_.reactor.advance(1ms);
  EXPECT_THAT(client_->written, HasSubstr("client_timeout of 100 ms"));
}

// The client has chosen the time, so that the peer is not to blame.
TEST_F(ClientDeadlinesTest, EjectsNoPeer) {
  NodeConfig next = node_.worker->node();
  next.peers.push_back({"host-c", *parse_address("tcp:127.0.0.1:9467"), {}});
  next.endpoints[0].peers.push_back("host-c");
  node_.set_node(next);
  const auto ejections_after = [&](const std::string& timeout) {
    for (int i = 0; i < 5; ++i) {
      const auto client = node_.connect_client();
      node_.receive(client, call_with(timeout, "get"));
      node_.reactor.advance(2s);
      EXPECT_THAT(client->written, HasSubstr("deadline_exceeded"));
    }
    return node_.counters.peer_events.count("host-b", PeerEvent::kEjection);
  };
  EXPECT_EQ(ejections_after("250"), 0u);
  EXPECT_GE(ejections_after("2500"), 1u) << "the time-out of the hints passes first";
}

}  // namespace
}  // namespace hat
