// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/client_limits_test.cc: tests the limit of each table and queue that local clients
// can make grow. daemon/proxy/peer_limits_test.cc tests those that peers can make grow.
#include <gmock/gmock.h>

#include <algorithm>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// A node with a link to its peer host-b.
struct ClientNode {
  explicit ClientNode(const Limits& limits) : node(limits) {
    node.receive(node.peer_wire(), hello_bytes("host-b", ""));
    node.peer_wire()->written.clear();
  }
  FakeNode node;
};

TEST(ClientLimits, AnEndpointHasSoManyConnections) {
  Limits limits = default_limits();
  limits.connections_max = 2;
  ClientNode one(limits);
  const auto first = one.node.connect_client();
  one.node.connect_client();
  const size_t wires = one.node.reactor.wires.size();
  one.node.connect_client();
  EXPECT_EQ(one.node.reactor.wires.size(), wires) << "it is not taken, so its socket closes";
  EXPECT_EQ(one.node.counters.connections_refused.value(), 1u);
  first->end = true;
  FakeNode::read(first);
  one.node.reactor.end_iteration();
  one.node.connect_client();
  EXPECT_EQ(one.node.reactor.wires.size(), wires + 1) << "there is room again";
  EXPECT_EQ(one.node.counters.connections_refused.value(), 1u);
}

TEST(ClientLimits, ARequestHasSoManyBytes) {
  Limits limits = default_limits();
  limits.message_bytes_max = 1000;
  ClientNode one(limits);
  const auto client = one.node.connect_client();
  const auto request = [](uint32_t bytes) {
    return strict_message(thrift::MessageType::kCall, "get", 1, with_text(bytes));
  };
  one.node.receive(client, request(2000));
  EXPECT_THAT(client->written, HasSubstr("hatrpcd: too_large"));
  EXPECT_THAT(one.node.peer_wire()->written, Not(HasSubstr("get")));
  EXPECT_EQ(one.node.counters.buffered_bytes.value(), 0u);
  client->written.clear();
  one.node.receive(client, request(500));
  EXPECT_THAT(client->written, IsEmpty()) << "the next one is carried";
  EXPECT_THAT(one.node.peer_wire()->written, HasSubstr("get"));
}

TEST(ClientLimits, AConnectionHasSoManyUnansweredCalls) {
  constexpr uint32_t kMost = 3;
  Limits limits = default_limits();
  limits.calls_per_connection_max = kMost;
  ClientNode one(limits);
  const auto client = one.node.connect_client();
  std::string requests;
  for (uint32_t i = 0; i < 2 * kMost; ++i) {
    requests += strict_message(thrift::MessageType::kCall, "get", 1);
  }
  one.node.receive(client, requests);
  const auto calls = [&] {
    return std::ranges::count(headers_in(one.node.peer_wire()->written), FrameKind::kCall,
                              &engine::FrameHeader::kind);
  };
  EXPECT_EQ(calls(), kMost);
  EXPECT_FALSE(client->reading);
  one.node.receive(
      one.node.peer_wire(),
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "the reply"));
  EXPECT_EQ(calls(), kMost + 1);
}

// The daemon keeps an object for each unanswered call. These objects count towards
// limits.max_buffered, because the object of a small call is larger than the request.
TEST(ClientLimits, UnansweredCallsCount) {
  constexpr size_t kCalls = 1000;
  ClientNode one(default_limits());
  const auto client = one.node.connect_client();
  const auto buffered = [&] { return one.node.counters.buffered_bytes.value(); };
  std::string requests;
  for (size_t i = 0; i < kCalls; ++i) {
    requests += strict_message(thrift::MessageType::kCall, "get", 1);
  }
  one.node.receive(client, requests);
  EXPECT_GE(buffered(), (kCalls - 64) * sizeof(Call));
  client->end = true;
  client->error = ECONNRESET;
  FakeNode::read(client);
  one.node.reactor.end_iteration();
  EXPECT_EQ(buffered(), 0u);
}

TEST(ClientLimits, CallsBeyondThemAreAnsweredAndNotCarried) {
  Limits limits = default_limits();
  limits.buffered_bytes_max = 100 * sizeof(Call);
  ClientNode one(limits);
  const auto client = one.node.connect_client();
  std::string requests;
  for (size_t i = 0; i < 300; ++i) {
    requests += strict_message(thrift::MessageType::kCall, "get", 1);
  }
  one.node.receive(client, requests);
  const auto carried = std::ranges::count(headers_in(one.node.peer_wire()->written),
                                          FrameKind::kCall, &engine::FrameHeader::kind);
  EXPECT_GE(carried, 100);
  EXPECT_LE(carried, 64 + 100 + 1);
  EXPECT_LE(one.node.counters.buffered_bytes.value(), 300 * sizeof(Call));
}

// While the link to the peer is down, each client's call and the client's later input wait for the
// link. The waiting bytes count towards limits.max_buffered.
TEST(ClientLimits, InputThatWaitsCounts) {
  constexpr size_t kClients = 40, kBytes = 32 * 1024, kBytesMax = 10 * kBytes;
  Limits limits = default_limits();
  limits.buffered_bytes_max = kBytesMax;
  FakeNode node(limits);  // the link is down, because the peer has not sent its hello
  const auto buffered = [&] { return node.counters.buffered_bytes.value(); };
  std::vector<std::shared_ptr<FakeStream::Wire>> clients;
  for (size_t i = 0; i < kClients; ++i) {
    clients.push_back(node.connect_client());
    node.receive(clients.back(),
                 strict_message(thrift::MessageType::kCall, "get", 1, with_text(kBytes)));
    EXPECT_LE(buffered(), kBytesMax + (i + 1) * 4096 + kBytes) << i;
  }
  EXPECT_GE(buffered(), kBytesMax);
  EXPECT_THAT(clients.front()->written, IsEmpty()) << "it waits";
  EXPECT_THAT(clients.back()->written, HasSubstr("hatrpcd: overloaded"));
  node.receive(node.peer_wire(), hello_bytes("host-b", ""));
  EXPECT_EQ(buffered(), 0u);
}

// A client sends the first part of a long THeader header, and never sends the rest. The daemon
// holds this part, which counts towards limits.max_buffered.
TEST(ClientLimits, HeadsThatDoNotEndCount) {
  constexpr size_t kBytes = 20'000;
  Limits limits = default_limits();
  limits.buffered_bytes_max = 10 * kBytes;
  ClientNode one(limits);
  const std::string head = theader_without_message(250'000).substr(0, kBytes);
  size_t closed = 0;
  for (size_t i = 0; i < 20; ++i) {
    const auto client = one.node.connect_client();
    one.node.receive(client, head);
    one.node.reactor.end_iteration();
    if (client->closed) ++closed;
  }
  EXPECT_LE(one.node.counters.buffered_bytes.value(), limits.buffered_bytes_max + 64 * 1024);
  EXPECT_EQ(closed, 10u) << "ten fit";
}

TEST(CallPool, KeepsOnlySoMany) {
  CallPool pool;
  std::vector<Call*> calls;
  for (size_t i = 0; i < CallPool::kFreeMax + 10; ++i) calls.push_back(pool.take());
  for (Call* call : calls) pool.give_back(call);
  EXPECT_EQ(pool.free(), CallPool::kFreeMax);
}

// A client can make a call own much memory: a frame of many messages, or a failure with a long
// reason. The pool is not counted towards limits.max_buffered, so the pool must not keep such a
// call.
TEST(CallPool, KeepsNoCallThatOwnsMoreMemory) {
  CallPool pool;
  Call* of_many_messages = pool.take();
  of_many_messages->more_heads.resize(255);
  pool.give_back(of_many_messages);
  EXPECT_EQ(pool.free(), 0u);
  Call* failed = pool.take();
  failed->failure = engine::Failure::kPeerUnreachable;
  failed->failure_detail = std::string(1000, 'x');
  pool.give_back(failed);
  EXPECT_EQ(pool.free(), 0u);
  pool.give_back(pool.take());
  EXPECT_EQ(pool.free(), std::min<size_t>(1, CallPool::kFreeMax));
}

// A call of an unlisted function makes its stream open a connection to the server of its own. Once
// kOwnMax such connections exist, a further call of this kind fails.
TEST_F(PooledCallTest, OnesOwnConnectionsAreSoMany) {
  constexpr uint32_t kFirst = 10;  // none of the fixture's four streams is used
  for (uint32_t i = 0; i <= UpstreamPool::kOwnMax; ++i) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = kFirst + i}, "Pool"));
    link_->written.clear();
    call(kFirst + i, 1, "say");
  }
  EXPECT_EQ(servers(), UpstreamPool::kOwnMax);
  EXPECT_THAT(failures_in(link_->written), testing::ElementsAre(ReportedFailure{
                                               FrameKind::kFail, 1, engine::Failure::kOverloaded}));
}

}  // namespace
}  // namespace hat
