// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/peer_limits_test.cc: tests the limit of each table and queue that peers can make
// grow.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;

// A framed binary reply of `get`.
const std::string kReply("\x00\x00\x00\x10\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00",
                         20);

class PeerLimits : public testing::Test {
 protected:
  static Limits small() {
    Limits limits = default_limits();
    limits.links_max = 8;
    limits.peer_streams_max = 8;
    limits.buffered_bytes_max = 400'000;
    return limits;
  }

  FakeNode::Wire link(const std::string& peer) {
    auto wire = node_.connect_link();
    node_.receive(wire, hello_bytes(peer, "host-a"));
    wire->written.clear();
    return wire;
  }
  void open(const FakeNode::Wire& link, uint32_t stream, const std::string& service = "Kv") {
    node_.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = stream}, service));
  }
  void call(const FakeNode::Wire& link, uint32_t stream, uint64_t ordinal,
            const std::string& request, bool whole = true) {
    node_.receive(link, frame_bytes({.kind = FrameKind::kCall,
                                     .flags = whole ? engine::kLastPiece : uint8_t{0},
                                     .replies = static_cast<uint16_t>(whole ? 1 : 0),
                                     .stream = stream,
                                     .call = ordinal},
                                    call_meta("get", 1) + request));
  }
  static size_t count(const FakeNode::Wire& link, FrameKind kind) {
    size_t found = 0;
    for (const FrameHeader& header : headers_in(link->written)) found += header.kind == kind;
    return found;
  }

  FakeNode node_{small()};
};

TEST_F(PeerLimits, OnePeerHasAQuarterOfTheLinks) {
  const auto first = link("host-b"), second = link("host-b");
  auto third = node_.connect_link();
  node_.receive(third, hello_bytes("host-b", "host-a"));
  EXPECT_TRUE(third->closed);
  EXPECT_EQ(count(third, FrameKind::kHello), 0u) << "to its peer, the link never came up";
  EXPECT_EQ(count(third, FrameKind::kRefuse), 1u);
  EXPECT_THAT(third->written, HasSubstr("node host-a: limits.max_links is reached"));
  EXPECT_EQ(node_.counters.links_refused.value(), 1u);
  EXPECT_FALSE(first->closed);
  EXPECT_FALSE(second->closed);
  EXPECT_FALSE(link("host-c")->closed) << "another peer has its own part";
  first->end = true;
  FakeNode::read(first);
  node_.reactor.end_iteration();
  EXPECT_FALSE(link("host-b")->closed) << "one has ended";
}

TEST_F(PeerLimits, AllPeersTogetherHaveSoManyLinks) {
  for (int i = 0; i < 8; ++i) EXPECT_FALSE(link("host-" + std::to_string(i))->closed) << i;
  EXPECT_TRUE(link("host-8")->closed);
  EXPECT_EQ(node_.counters.links_refused.value(), 1u);
}

// The limits count peers by the names in their certificates, and not by the names in their hellos.
TEST(PeerLimitsWithTls, APeerCannotHaveMoreUnderOtherNames) {
  Limits limits = default_limits();
  limits.links_max = 8;
  FakeSeal seal({"spiffe://p/host-b"});
  FakeNode node(limits, std::nullopt, &seal);
  for (int i = 0; i < 3; ++i) {
    auto wire = node.connect_link();
    node.receive(wire, hello_bytes("host-" + std::to_string(i), "host-a"));
    EXPECT_EQ(wire->closed, i == 2) << i;
  }
}

TEST_F(PeerLimits, OnePeerHasAQuarterOfTheStreamsOverAllItsLinks) {
  const auto one = link("host-b"), two = link("host-b"), other = link("host-c");
  open(one, 1);
  open(two, 1);
  open(two, 2);
  EXPECT_EQ(count(one, FrameKind::kReset), 0u);
  EXPECT_EQ(count(two, FrameKind::kReset), 1u);
  EXPECT_THAT(two->written, HasSubstr("node host-a: limits.max_peer_connections is reached"));
  EXPECT_EQ(node_.counters.peer_streams_refused.value(), 1u);
  open(other, 1);
  EXPECT_EQ(count(other, FrameKind::kReset), 0u);
  node_.receive(one, frame_bytes({.kind = FrameKind::kReset, .stream = 1}, ""));
  open(two, 3);
  EXPECT_EQ(count(two, FrameKind::kReset), 1u) << "one has ended";
}

// The certificates of two hosts can have a name in common, for example the name of a group of
// hosts. The limits still count the hosts as two peers.
TEST(PeerLimitsWithTls, PeersAreToldApartByAllTheirNames) {
  Limits limits = default_limits();
  limits.links_max = 4;
  FakeSeal seal({"group", "host-b"});
  FakeNode node(limits, std::nullopt, &seal);
  auto first = node.connect_link();
  node.receive(first, hello_bytes("host-b", "host-a"));
  EXPECT_FALSE(first->closed);
  seal.prove({"group", "host-c"});
  auto second = node.connect_link();
  node.receive(second, hello_bytes("host-c", "host-a"));
  EXPECT_FALSE(second->closed);
}

// The server takes all requests and answers none, so no request bytes are buffered, and only the
// memory of the unanswered calls counts towards limits.max_buffered.
TEST_F(PeerLimits, UnansweredCallsCount) {
  const auto peer = link("host-b");
  open(peer, 1);
  call(peer, 1, 1, "request");
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  for (uint64_t ordinal = 2; ordinal <= 64; ++ordinal) call(peer, 1, ordinal, "request");
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "every stream may have so many";
  uint64_t ordinal = 65;
  while (ordinal < 10'000 && count(peer, FrameKind::kFail) == 0) {
    peer->written.clear();
    call(peer, 1, ordinal++, "request");
  }
  EXPECT_THAT(peer->written,
              HasSubstr("node host-a: peer host-b has reached its quarter of limits.max_buffered"));
  EXPECT_EQ(server->written.size(), (ordinal - 2) * 7) << "all but the last are with the server";
  EXPECT_GT(node_.counters.buffered_bytes.value(), 100'000u);
  EXPECT_LT(node_.counters.buffered_bytes.value(), 400'000u) << "a queue doubles";
  for (uint64_t i = 1; i < ordinal - 1; ++i) node_.receive(server, kReply);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "all are answered";
  peer->end = true;
  FakeNode::read(peer);
  node_.reactor.end_iteration();
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// The server reads no bytes, so the daemon keeps all requests. When the kept bytes exceed the
// peer's quarter of limits.max_buffered, the daemon refuses the next request.
TEST_F(PeerLimits, RequestsAreKeptUpToTheLimit) {
  const auto peer = link("host-b");
  const std::string request(60'000, 'x');
  open(peer, 1);
  call(peer, 1, 1, request);
  call(peer, 1, 2, request);
  EXPECT_EQ(count(peer, FrameKind::kFail), 0u);
  open(peer, 2);
  call(peer, 2, 1, request);
  EXPECT_EQ(count(peer, FrameKind::kFail), 1u);
  EXPECT_THAT(peer->written,
              HasSubstr("node host-a: peer host-b has reached its quarter of limits.max_buffered"));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 120'000u);
  const auto reason = static_cast<size_t>(Failure::kOverloaded);
  EXPECT_EQ(node_.counters.local_replies[reason].value(), 1u);
}

TEST_F(PeerLimits, OnePeerHasAQuarterOfTheKeptBytes) {
  const std::string request(60'000, 'x');
  for (const char* name : {"host-b", "host-c"}) {
    const auto peer = link(name);
    open(peer, 1);
    call(peer, 1, 1, request);
    call(peer, 1, 2, request);
    EXPECT_EQ(count(peer, FrameKind::kFail), 0u) << name << " has its own part";
    call(peer, 1, 3, request);
    EXPECT_EQ(count(peer, FrameKind::kFail), 1u) << name;
  }
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 240'000u);
}

TEST_F(PeerLimits, AllPeersTogetherHaveSoManyKeptBytes) {
  const std::string request(60'000, 'x');
  for (int i = 0; i < 7; ++i) {
    const auto peer = link("host-" + std::to_string(i));
    open(peer, 1);
    call(peer, 1, 1, request);
    EXPECT_EQ(count(peer, FrameKind::kFail), 0u);
  }
  const auto one_more = link("host-b");
  open(one_more, 1);
  call(one_more, 1, 1, request);
  EXPECT_EQ(count(one_more, FrameKind::kFail), 1u);
  EXPECT_THAT(one_more->written, HasSubstr("node host-a: limits.max_buffered is reached"));
}

TEST_F(PeerLimits, HalfARequestEndsItsStreamAtTheLimit) {
  const auto peer = link("host-b");
  open(peer, 1);
  call(peer, 1, 1, std::string(60'000, 'x'), false);
  const auto server = node_.reactor.wires.back();
  server->space = 10'000;
  server->events->on_writable();
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(count(peer, FrameKind::kReset), 0u);
    node_.receive(peer, frame_bytes({.kind = FrameKind::kMore, .stream = 1, .call = 1},
                                    std::string(60'000, 'x')));
  }
  EXPECT_THAT(failures_in(peer->written),
              ElementsAre(ReportedFailure{FrameKind::kFail, 1, Failure::kOverloaded},
                          ReportedFailure{FrameKind::kReset, 0, Failure::kUpstreamClosed}));
  EXPECT_THAT(peer->written,
              HasSubstr("node host-a: peer host-b has reached its quarter of limits.max_buffered"));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "what was kept went with the stream";
  EXPECT_TRUE(server->closed);
}

TEST_F(PeerLimits, BytesThatAreNoCallsEndTheirStreamAtTheLimit) {
  const auto peer = link("host-b");
  open(peer, 1);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(count(peer, FrameKind::kReset), 0u);
    node_.receive(peer,
                  frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, std::string(60'000, 'x')));
  }
  EXPECT_EQ(count(peer, FrameKind::kReset), 1u);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

}  // namespace
}  // namespace hat
