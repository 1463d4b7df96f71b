// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/idle_links_test.cc: the links of a worker that makes a link when a client
// needs it, and ends the link when no client needs it any more.
#include <gmock/gmock.h>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using engine::LinkState;
using testing::Contains;
using testing::ElementsAre;
using testing::Not;

// A node with the peers host-b and host-c, which both serve the endpoint's service.
class IdleLinksTest : public testing::Test {
 protected:
  static constexpr Duration kIdle = std::chrono::seconds(8);

  IdleLinksTest() {
    NodeConfig next = node_.worker->node();
    next.peers.push_back({"host-c", *parse_address("tcp:127.0.0.1:9467"), {}});
    next.endpoints[0].peers.push_back("host-c");
    node_.set_node(next);
  }

  static Limits limits() {
    Limits limits = without_pings();
    limits.link_idle = kIdle;
    limits.connect_timeout = std::chrono::minutes(1);
    return limits;
  }
  // Lets the client send a call.
  void call(const FakeNode::Wire& client) {
    node_.receive(client, strict_message(thrift::MessageType::kCall, "get", 1));
    node_.reactor.end_iteration();
  }
  // Returns the newest connection to this peer, or null if there is none.
  FakeNode::Wire link(const std::string& peer) {
    const std::string address = peer == "host-b" ? "tcp:127.0.0.1:9465" : "tcp:127.0.0.1:9467";
    FakeNode::Wire newest;
    for (const auto& wire : node_.reactor.wires) {
      if (wire->address == address) newest = wire;
    }
    return newest;
  }
  void come_up(const std::string& peer) {
    node_.receive(link(peer), hello_bytes(peer, ""));
    node_.reactor.end_iteration();
  }
  bool carries_a_call(const std::string& peer) {
    const auto kinds = kinds_in(link(peer)->written);
    return std::ranges::find(kinds, FrameKind::kCall) != kinds.end();
  }
  std::vector<LinkState> states() const {
    std::vector<LinkState> all;
    for (const LinkStatus& status : node_.worker->link_status()) all.push_back(status.state);
    return all;
  }
  // Lets a client call host-b or host-c, and leave when it has its answer.
  void use_the_links() {
    const auto client = node_.connect_client();
    call(client);
    come_up("host-b");
    come_up("host-c");
    const std::string peer = carries_a_call("host-b") ? "host-b" : "host-c";
    const FrameHeader header{
        .kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1};
    node_.receive(link(peer), frame_bytes(header, "reply"));
    EXPECT_EQ(client->written, "reply");
    client->end = true;
    node_.receive(client, "");
  }
  // Lets time pass, and lets the peers end the links that this node has ended.
  void pass(Duration time) {
    node_.reactor.advance(time);
    for (const auto& wire : node_.reactor.wires) {
      if (!wire->shut || wire->closed) continue;
      wire->end = true;
      node_.receive(wire, "");
    }
  }

  uint64_t idle_ends(const std::string& peer) const {
    return node_.counters.peer_events.count(peer, PeerEvent::kIdleEnd);
  }

  FakeNode node_{limits(), std::nullopt, nullptr, false};
};

TEST_F(IdleLinksTest, NoLinkIsMadeBeforeAClientNeedsIt) {
  EXPECT_EQ(link("host-b"), nullptr);
  EXPECT_THAT(states(), ElementsAre(LinkState::kIdle, LinkState::kIdle));
  const auto client = node_.connect_client();
  EXPECT_EQ(link("host-b"), nullptr) << "the client has made no call";
  call(client);
  EXPECT_THAT(states(), ElementsAre(LinkState::kConnecting, LinkState::kConnecting));
}

TEST_F(IdleLinksTest, ACallWaitsUntilTheFirstAttemptsHaveEnded) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  EXPECT_FALSE(carries_a_call("host-b")) << "the client could rather get host-c";
  come_up("host-c");
  EXPECT_NE(carries_a_call("host-b"), carries_a_call("host-c"));
}

TEST_F(IdleLinksTest, ACallThatIsSentAgainWaitsForALinkThatWasIdle) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  come_up("host-c");
  const std::string first = carries_a_call("host-b") ? "host-b" : "host-c";
  const std::string second = first == "host-b" ? "host-c" : "host-b";
  const FrameHeader reply{
      .kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1};
  node_.receive(link(first), frame_bytes(reply, "reply"));
  pass(2 * kIdle);
  ASSERT_THAT(states(), Contains(LinkState::kIdle));
  client->written.clear();
  call(client);
  const engine::FailMeta meta{engine::Failure::kUpstreamUnreachable, 0};
  node_.receive(link(first),
                frame_bytes({.kind = FrameKind::kFail, .replies = 1, .stream = 1, .call = 2},
                            std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
  node_.reactor.end_iteration();
  EXPECT_EQ(client->written, "");
  come_up(second);
  EXPECT_TRUE(carries_a_call(second));
}

TEST_F(IdleLinksTest, AFailedAttemptEndsTheWait) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  link("host-c")->error = ECONNREFUSED;
  FakeNode::read(link("host-c"));
  node_.reactor.end_iteration();
  EXPECT_TRUE(carries_a_call("host-b"));
}

TEST_F(IdleLinksTest, ACallWaitsOnlyShortlyForAPeerThatDoesNotAnswer) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  pass(Worker::kFirstAttemptWait - Duration(1));
  EXPECT_FALSE(carries_a_call("host-b"));
  pass(Duration(1));
  EXPECT_TRUE(carries_a_call("host-b"));
  link("host-b")->written.clear();
  call(node_.connect_client());
  EXPECT_TRUE(carries_a_call("host-b")) << "later clients do not wait at all";
}

TEST_F(IdleLinksTest, ACallWaitsWhileAPeerOfAnIdleLinkRestarts) {
  pass(std::chrono::hours(1));
  const auto client = node_.connect_client();
  call(client);
  for (const char* peer : {"host-b", "host-c"}) {
    link(peer)->error = ECONNREFUSED;
    FakeNode::read(link(peer));
    node_.reactor.end_iteration();
  }
  EXPECT_EQ(client->written, "");
  pass(std::chrono::milliseconds(100));
  come_up("host-b");
  EXPECT_TRUE(carries_a_call("host-b"));
}

// The client's wait ends before the wait for the first attempt of host-c, which a reload adds late.
TEST_F(IdleLinksTest, AtItsDeadlineACallUsesALinkThatIsUp) {
  NodeConfig next = node_.worker->node();
  next.limits.peer_wait = std::chrono::milliseconds(500);
  const NodeConfig both = next;
  next.peers.pop_back();
  next.endpoints[0].peers.pop_back();
  node_.set_node(next);
  const auto client = node_.connect_client();
  call(client);
  pass(next.limits.peer_wait - std::chrono::milliseconds(10));
  node_.set_node(both);
  come_up("host-b");
  EXPECT_FALSE(carries_a_call("host-b"));
  pass(std::chrono::milliseconds(10));
  EXPECT_TRUE(carries_a_call("host-b"));
}

TEST_F(IdleLinksTest, ACallDoesNotWaitForAPeerOfAnotherZone) {
  NodeConfig next = node_.worker->node();
  next.zone = next.peers[0].zone = "east";
  node_.set_node(next);
  call(node_.connect_client());
  come_up("host-b");
  EXPECT_TRUE(carries_a_call("host-b"));
}

TEST_F(IdleLinksTest, LinksThatNoClientNeedsEnd) {
  use_the_links();
  pass(kIdle - std::chrono::milliseconds(1));
  EXPECT_THAT(states(), ElementsAre(LinkState::kUp, LinkState::kUp));
  pass(kIdle / 2);
  EXPECT_THAT(states(), ElementsAre(LinkState::kIdle, LinkState::kIdle));
  EXPECT_TRUE(link("host-b")->closed);
  EXPECT_EQ(idle_ends("host-b"), 1u);
  const size_t before = node_.reactor.wires.size();
  pass(10 * kIdle);
  EXPECT_EQ(node_.reactor.wires.size(), before) << "and nothing takes their place";

  use_the_links();
  EXPECT_THAT(states(), ElementsAre(LinkState::kUp, LinkState::kUp));
  EXPECT_EQ(node_.worker->link_status()[0].sessions, 2u);
}

TEST_F(IdleLinksTest, ALinkStaysWhileAClientHasAStream) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  come_up("host-c");
  const bool at_b = carries_a_call("host-b");
  pass(10 * kIdle);
  const auto expected = [](bool used) { return used ? LinkState::kUp : LinkState::kIdle; };
  EXPECT_THAT(states(), ElementsAre(expected(at_b), expected(!at_b)));
}

TEST_F(IdleLinksTest, LinksStayWhileNewClientsLookForAPeer) {
  use_the_links();
  for (int i = 0; i < 10; ++i) {
    pass(kIdle / 2);
    const auto client = node_.connect_client();
    call(client);
    client->error = ECONNRESET;
    node_.receive(client, "");
  }
  EXPECT_EQ(idle_ends("host-b"), 0u);
  EXPECT_EQ(idle_ends("host-c"), 0u);
}

TEST_F(IdleLinksTest, AReloadTurnsItOffAndOn) {
  NodeConfig next = node_.worker->node();
  next.limits.link_idle = Duration::zero();
  node_.set_node(next);
  EXPECT_THAT(states(), ElementsAre(LinkState::kConnecting, LinkState::kConnecting));
  come_up("host-b");
  come_up("host-c");
  pass(10 * kIdle);
  EXPECT_THAT(states(), ElementsAre(LinkState::kUp, LinkState::kUp));
  next.limits.link_idle = kIdle;
  node_.set_node(next);
  pass(2 * kIdle);
  EXPECT_THAT(states(), ElementsAre(LinkState::kIdle, LinkState::kIdle));
}

TEST_F(IdleLinksTest, ALinkThatWasUsedLatelyStaysWhenAReloadTurnsItOn) {
  NodeConfig next = node_.worker->node();
  next.limits.link_idle = Duration::zero();
  node_.set_node(next);
  const auto client = node_.connect_client();
  come_up("host-b");
  come_up("host-c");
  call(client);
  const bool at_b = carries_a_call("host-b");
  pass(10 * kIdle);
  client->error = ECONNRESET;
  node_.receive(client, "");
  next.limits.link_idle = kIdle;
  node_.set_node(next);
  EXPECT_EQ(states()[at_b ? 0 : 1], LinkState::kUp);
  EXPECT_EQ(states()[at_b ? 1 : 0], LinkState::kIdle);
}

TEST_F(IdleLinksTest, AnAddressThatChangesUnderAClientIsConnectedAtOnce) {
  const auto client = node_.connect_client();
  call(client);
  come_up("host-b");
  come_up("host-c");
  const bool at_b = carries_a_call("host-b");
  NodeConfig next = node_.worker->node();
  for (PeerConfig& peer : next.peers) peer.link.port += 100;
  node_.set_node(next);
  EXPECT_EQ(states()[at_b ? 0 : 1], LinkState::kConnecting);
  EXPECT_EQ(states()[at_b ? 1 : 0], LinkState::kIdle);
}

TEST_F(IdleLinksTest, ALinkToADeadPeerThatNoClientNeedsMakesNoMoreAttempts) {
  const auto client = node_.connect_client();
  call(client);
  for (const char* peer : {"host-b", "host-c"}) {
    link(peer)->error = ECONNREFUSED;
    FakeNode::read(link(peer));
  }
  client->error = ECONNRESET;
  node_.receive(client, "");
  EXPECT_THAT(states(), ElementsAre(LinkState::kDown, LinkState::kDown));
  pass(2 * kIdle);
  EXPECT_THAT(states(), ElementsAre(LinkState::kIdle, LinkState::kIdle));
  const size_t before = node_.reactor.wires.size();
  pass(10 * kIdle);
  EXPECT_EQ(node_.reactor.wires.size(), before);
  EXPECT_EQ(idle_ends("host-b"), 0u) << "it was not up";
}

TEST_F(IdleLinksTest, WithoutAPeerWaitLinksAreKept) {
  NodeConfig next = node_.worker->node();
  next.limits.peer_wait = Duration::zero();
  node_.set_node(next);
  come_up("host-b");
  pass(10 * kIdle);
  EXPECT_EQ(states()[0], LinkState::kUp);
  call(node_.connect_client());
  EXPECT_TRUE(carries_a_call("host-b")) << "although host-c's first attempt has not ended";
}

TEST_F(IdleLinksTest, ALinkWhosePeerHandsOverIsMadeAgain) {
  use_the_links();
  const auto old = link("host-b");
  node_.receive(old, frame_bytes({.kind = FrameKind::kGoAway}));
  node_.reactor.end_iteration();
  EXPECT_NE(link("host-b"), old);
  come_up("host-b");
  EXPECT_THAT(states(), ElementsAre(LinkState::kUp, LinkState::kUp));
}

}  // namespace
}  // namespace hat
