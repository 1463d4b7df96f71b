// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/new_configuration_test.cc: tests that a reload of the node's configuration changes
// what new connections and calls use, and ends no connection. The tests play the node's clients,
// peers and servers.
#include <gmock/gmock.h>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::UnorderedElementsAre;
using thrift::MessageType;

Address address(const std::string& text) { return *parse_address(text); }

// --- Peers and endpoints ---

class ClientReloadTest : public testing::Test {
 protected:
  ClientReloadTest() { node_.receive(peer_, hello_bytes("host-b", "")); }

  NodeConfig configuration() const { return node_.worker->node(); }
  // Completes the handshake of the node's newest link as the peer `name`.
  FakeNode::Wire next_link(const std::string& name) {
    auto wire = node_.reactor.wires.back();
    node_.receive(wire, hello_bytes(name, ""));
    node_.reactor.end_iteration();
    return wire;
  }
  void call(const FakeNode::Wire& client) {
    node_.receive(client, strict_message(MessageType::kCall, "get", 1));
  }
  // Answers call number `ordinal` of stream 1. Returns what the client gets.
  std::string answer(const FakeNode::Wire& peer, const FakeNode::Wire& client, uint64_t ordinal) {
    const FrameHeader header{
        .kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = ordinal};
    node_.receive(peer, frame_bytes(header, "reply"));
    node_.reactor.end_iteration();
    return std::exchange(client->written, "");
  }
  std::vector<std::string> peers_up() const {
    std::vector<std::string> all;
    for (const LinkStatus& link : node_.worker->link_status()) {
      all.push_back(link.peer + (link.state == engine::LinkState::kUp ? " up" : " down"));
    }
    return all;
  }

  FakeNode node_{without_pings()};
  FakeNode::Wire peer_ = node_.peer_wire();
};

TEST_F(ClientReloadTest, ConnectsToAPeerThatIsAddedAndCallsIt) {
  NodeConfig next = configuration();
  next.peers.push_back({"host-c", address("tcp:127.0.0.1:9467"), {}});
  next.endpoints[0].peers = {"host-c"};
  node_.set_node(next);
  const auto added = next_link("host-c");
  EXPECT_EQ(added->address, "tcp:127.0.0.1:9467");
  EXPECT_THAT(peers_up(), UnorderedElementsAre("host-b up", "host-c up"));
  const auto client = node_.connect_client();
  added->written.clear();
  call(client);
  EXPECT_THAT(kinds_in(added->written), ElementsAre(FrameKind::kOpen, FrameKind::kCall));
}

TEST_F(ClientReloadTest, EndsTheLinkToARemovedPeerWhenItsLastCallHasItsReply) {
  const auto client = node_.connect_client();
  call(client);
  NodeConfig next = configuration();
  next.peers = {{"host-c", address("tcp:127.0.0.1:9467"), {}}};
  next.endpoints[0].peers = {"host-c"};
  node_.set_node(next);
  const auto added = next_link("host-c");
  EXPECT_THAT(peers_up(), ElementsAre("host-c up"));
  EXPECT_FALSE(peer_->shut) << "a call is in flight";
  EXPECT_EQ(answer(peer_, client, 1), "reply");
  added->written.clear();
  call(client);
  EXPECT_THAT(kinds_in(added->written), ElementsAre(FrameKind::kOpen, FrameKind::kCall))
      << "the connection has no server of its own, so its next call goes to the new peer";
  node_.reactor.end_iteration();
  EXPECT_TRUE(peer_->shut) << "no stream is left";
  EXPECT_FALSE(client->closed);
}

TEST_F(ClientReloadTest, KeepsTheConnectionOfAClientWithAServerOfItsOwnAtARemovedPeer) {
  const auto client = node_.connect_client();
  call(client);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kBound, .stream = 1}));
  EXPECT_EQ(answer(peer_, client, 1), "reply");
  NodeConfig next = configuration();
  next.peers.clear();
  next.endpoints.clear();
  node_.set_node(next);
  EXPECT_THAT(peers_up(), IsEmpty());
  peer_->written.clear();
  call(client);
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kCall));
  EXPECT_EQ(answer(peer_, client, 2), "reply");
  EXPECT_FALSE(peer_->shut);
  client->end = true;
  FakeNode::read(client);
  node_.reactor.end_iteration();
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  node_.reactor.end_iteration();
  EXPECT_TRUE(peer_->shut) << "the last stream has ended";
}

TEST_F(ClientReloadTest, ClosesClientsOfARemovedPeerBetweenCallsWhenThePeerShutsDown) {
  const auto client = node_.connect_client();
  call(client);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kBound, .stream = 1}));
  EXPECT_EQ(answer(peer_, client, 1), "reply");
  NodeConfig next = configuration();
  next.peers.clear();
  next.endpoints.clear();
  node_.set_node(next);
  call(client);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kGoAway}));
  node_.reactor.end_iteration();
  EXPECT_EQ(answer(peer_, client, 2), "reply") << "the call in flight has its reply";
  EXPECT_TRUE(client->shut);
  EXPECT_EQ(kinds_in(peer_->written).back(), FrameKind::kEnd) << "so that the peer need not wait";
}

TEST_F(ClientReloadTest, MakesANewLinkToAPeerWithAnotherAddress) {
  NodeConfig next = configuration();
  next.peers[0].link = address("tcp:127.0.0.1:9999");
  node_.set_node(next);
  const auto moved = next_link("host-b");
  EXPECT_EQ(moved->address, "tcp:127.0.0.1:9999");
  EXPECT_THAT(peers_up(), ElementsAre("host-b up"));
  node_.reactor.end_iteration();
  EXPECT_TRUE(peer_->shut) << "no stream uses the old link";
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  EXPECT_TRUE(peer_->closed);
  node_.reactor.advance(std::chrono::minutes(1));
  EXPECT_EQ(node_.reactor.wires.back(), moved) << "the old link does not connect again";
}

TEST_F(ClientReloadTest, GivesUpALinkThatIsBeingBuilt) {
  NodeConfig next = configuration();
  next.peers.push_back({"host-c", address("tcp:127.0.0.1:9467"), {}});
  node_.set_node(next);
  const auto added = node_.reactor.wires.back();
  node_.set_node(configuration());
  next.peers.pop_back();
  node_.set_node(next);
  EXPECT_TRUE(added->closed);
  EXPECT_THAT(peers_up(), ElementsAre("host-b up"));
}

TEST_F(ClientReloadTest, OffersTheServiceOfAnAddedEndpoint) {
  NodeConfig next = configuration();
  next.endpoints.insert(next.endpoints.begin(), {address("tcp:127.0.0.1:9092"), "New", {"host-b"}});
  node_.set_node(next);
  peer_->written.clear();
  call(node_.connect_client());
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kOpen, FrameKind::kCall));
  EXPECT_THAT(peer_->written, HasSubstr("New"));
}

TEST_F(ClientReloadTest, KeepsTheServiceOfConnectionsThatExist) {
  const auto client = node_.connect_client();
  NodeConfig next = configuration();
  next.endpoints[0].service = "Other";
  node_.set_node(next);
  peer_->written.clear();
  call(client);
  EXPECT_THAT(peer_->written, HasSubstr("Kv"));
  peer_->written.clear();
  call(node_.connect_client());
  EXPECT_THAT(peer_->written, HasSubstr("Other"));
}

TEST_F(ClientReloadTest, CountsConnectionsOfAnEndpointThatStays) {
  const auto client = node_.connect_client();
  NodeConfig next = configuration();
  next.limits.connections_max = 1;
  node_.set_node(next);
  node_.connect_client();
  EXPECT_EQ(node_.counters.connections_refused.value(), 1u);
  client->end = true;
  FakeNode::read(client);
  node_.reactor.end_iteration();
  node_.connect_client();
  EXPECT_EQ(node_.counters.connections_refused.value(), 1u);
}

// --- Served services ---

class ServerReloadTest : public PooledCallTest {
 protected:
  NodeConfig configuration() const { return node_.worker->node(); }
  void set_upstream(const std::string& service, const std::string& upstream) {
    NodeConfig next = configuration();
    for (ServedConfig& served : next.serves) {
      if (served.service == service) served.upstream = address(upstream);
    }
    node_.set_node(next);
  }
  void set_addresses(const std::string& service, const std::vector<std::string>& addresses) {
    NodeConfig next = configuration();
    for (ServedConfig& served : next.serves) {
      if (served.service != service) continue;
      served.addresses.clear();
      for (const std::string& one : addresses) served.addresses.push_back(address(one));
    }
    node_.set_node(next);
  }
};

TEST_F(ServerReloadTest, SharedCallsUseTheNewServerAndTheOldConnectionsEnd) {
  call(1, 1, "get");
  reply(server());
  call(1, 2, "get");
  set_upstream("Pool", "tcp:127.0.0.1:9999");
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "1.2 ends")) << "a call in flight ends as usual";
  node_.reactor.end_iteration();
  EXPECT_TRUE(server()->closed);
  call(1, 3, "get");
  call(2, 1, "get");
  ASSERT_EQ(servers(), 3u);
  EXPECT_EQ(server(1)->address, "tcp:127.0.0.1:9999");
  reply(server(1));
  reply(server(2));
  EXPECT_THAT(ends(), ElementsAre("1.3 ends", "2.1 ends"));
}

TEST_F(ServerReloadTest, ClosesIdleSharedConnectionsToTheOldServer) {
  call(1, 1, "get");
  reply(server());
  EXPECT_FALSE(server()->closed);
  set_upstream("Pool", "tcp:127.0.0.1:9999");
  EXPECT_TRUE(server()->closed);
}

TEST_F(ServerReloadTest, ClosesSharedConnectionsToAddressesThatTheServerNoLongerHas) {
  set_addresses("Pool", {"tcp:10.0.0.1:1"});
  call(1, 1, "get");
  call(2, 1, "get");
  reply(server(0));
  EXPECT_EQ(server(0)->address, "tcp:10.0.0.1:1");
  set_addresses("Pool", {"tcp:10.0.0.0:1", "tcp:10.0.0.1:1"});
  EXPECT_FALSE(server(0)->closed) << "the server still has the address";
  set_addresses("Pool", {"tcp:10.0.0.2:1"});
  EXPECT_TRUE(server(0)->closed) << "it was idle";
  EXPECT_FALSE(server(1)->closed);
  reply(server(1));
  node_.reactor.end_iteration();
  EXPECT_TRUE(server(1)->closed);
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "2.1 ends"));
  call(1, 2, "get");
  EXPECT_EQ(server(2)->address, "tcp:10.0.0.2:1");
}

TEST_F(ServerReloadTest, MoreAddressesDoNotRaiseTheLimitOfConnections) {
  for (int i = 1; i <= 3; ++i) {
    set_addresses("Pool", {"tcp:10.0.0.9:1", "tcp:10.0.1." + std::to_string(i) + ":1"});
    call(static_cast<uint32_t>(i), 1, "get");
  }
  EXPECT_EQ(servers(), 2u) << "the third call waits";
}

TEST_F(ServerReloadTest, ACallThatWaitsForAConnectionToTheOldServerGetsOne) {
  call(1, 1, "get");
  call(2, 1, "get");
  call(3, 1, "get");  // waits: the service has two connections
  set_upstream("Pool", "tcp:127.0.0.1:9999");
  reply(server(0));
  ASSERT_EQ(servers(), 3u);
  EXPECT_EQ(server(2)->address, "tcp:127.0.0.1:9091");
  reply(server(2));
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "3.1 ends"));
}

TEST_F(ServerReloadTest, AStreamWithAOnewayCallChangesItsServerToo) {
  oneway(1, 1, "note");
  server();
  set_upstream("Pool", "tcp:127.0.0.1:9999");
  call(1, 2, "get");
  EXPECT_EQ(server(1)->address, "tcp:127.0.0.1:9999");
}

TEST_F(ServerReloadTest, AMirroredStreamStaysWithItsServer) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 9}, "Kv"));
  call(9, 1, "get");
  set_upstream("Kv", "tcp:127.0.0.1:9999");
  reply(server());
  call(9, 2, "get");
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("9.1 ends", "9.2 ends"));
  EXPECT_EQ(servers(), 1u);
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 10}, "Kv"));
  call(10, 1, "get");
  EXPECT_EQ(server(1)->address, "tcp:127.0.0.1:9999");
}

TEST_F(ServerReloadTest, AMirroredStreamUsesTheNewServerIfTheOldOneDoesNotListen) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 9}, "Kv"));
  call(9, 1, "get");
  const auto refused = node_.reactor.wires.back();
  refused->error = ECONNREFUSED;
  refused->events->on_writable();
  node_.reactor.end_iteration();
  EXPECT_THAT(ends(), ElementsAre("9.1 fails"));
  set_upstream("Kv", "tcp:127.0.0.1:9999");
  call(9, 2, "get");
  EXPECT_EQ(server(1)->address, "tcp:127.0.0.1:9999");
}

TEST_F(ServerReloadTest, ARemovedServiceIsRefusedToLaterCalls) {
  call(1, 1, "get");
  NodeConfig next = configuration();
  std::erase_if(next.serves, [](const ServedConfig& one) { return one.service == "Pool"; });
  node_.set_node(next);
  reply(server());
  call(1, 2, "get");
  EXPECT_EQ(servers(), 1u);
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "1.2 fails", "1.0 reset"))
      << "the call in flight had its reply";
  EXPECT_THAT(failures_in(answers_),
              ElementsAre(ReportedFailure{FrameKind::kFail, 2, Failure::kUnknownService},
                          ReportedFailure{FrameKind::kReset, 0, Failure::kUnknownService}));
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 9}, "Pool"));
  EXPECT_THAT(failures_in(link_->written),
              ElementsAre(ReportedFailure{FrameKind::kReset, 0, Failure::kUnknownService}));
}

TEST_F(ServerReloadTest, AServiceCanBecomeMirroredOrShared) {
  NodeConfig next = configuration();
  next.serves[0].mode = UpstreamMode::kShared;
  next.serves[1].mode = UpstreamMode::kMirror;
  node_.set_node(next);
  call(1, 1, "get");
  reply(server());
  EXPECT_THAT(kinds_in(link_->written), ElementsAre(FrameKind::kBound, FrameKind::kReply));
  call(1, 2, "get");
  reply(server());
  call(2, 1, "get");
  EXPECT_EQ(servers(), 2u) << "each stream has a connection of its own";
}

}  // namespace
}  // namespace hat
