// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/upstream.h"

#include <glog/logging.h>
#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::FrameKind;

// The node reads the server's end twice, and the peer grants credit each time. The node must send
// only one kEnd frame to the peer.
TEST(UpstreamConnectionTest, ReportsTheServersEndOnce) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  node.receive(link, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  const auto server = node.reactor.wires.back();
  server->events->on_writable();
  link->written.clear();
  server->end = true;
  for (int i = 0; i < 2; ++i) {
    FakeNode::read(server);
    node.receive(link, frame_bytes({.kind = FrameKind::kCredit, .stream = 1, .credit = 100}));
  }
  EXPECT_FALSE(server->reading);
  EXPECT_EQ(link->written, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
}

TEST(UpstreamConnectionTest, ConnectsToTheRingIfTheServerListensThere) {
  FakeNode node;
  ServedConfig served = node.worker->node().serves[0];
  served.ring = *parse_address("shm:/run/kv.ring");
  const auto connects_to = [&] {
    const UpstreamConnection connection(*node.worker, std::make_shared<Served>(served, 0),
                                        UpstreamConnection::kFirstId);
    return to_string(node.reactor.connected_to.back());
  };
  EXPECT_EQ(connects_to(), "shm:/run/kv.ring");
  node.reactor.refusals.insert("shm:/run/kv.ring");
  EXPECT_EQ(connects_to(), to_string(served.upstream));
  node.reactor.refusals.clear();
  EXPECT_EQ(connects_to(), "shm:/run/kv.ring");
}

// A server whose host has three addresses.
constexpr const char* kAddresses[] = {"tcp:10.0.0.1:1", "tcp:10.0.0.2:1", "tcp:[fd00::3]:1"};
std::shared_ptr<Served> with_addresses(FakeNode& node) {
  ServedConfig served = node.worker->node().serves[0];
  for (const char* address : kAddresses) served.addresses.push_back(*parse_address(address));
  return std::make_shared<Served>(served, 0);
}

// A connection that the pool opens, and that it closes when the object ends.
class Opened {
 public:
  Opened(FakeNode& node, const std::shared_ptr<Served>& served)
      : node_(node), connection_(node.worker->upstreams().open(served)) {
    connection_->want_read(true);
  }
  ~Opened() {
    node_.worker->upstreams().close(std::move(connection_));
    node_.reactor.end_iteration();
  }
  std::string address() const { return wire()->address; }
  FakeNode::Wire wire() const { return node_.reactor.wires.back(); }

 private:
  FakeNode& node_;
  std::unique_ptr<UpstreamConnection> connection_;
};

TEST(UpstreamConnectionTest, AvoidsAnAddressThatHasRefusedAConnection) {
  FakeNode node;
  const auto served = with_addresses(node);
  {
    const Opened opened(node, served);
    EXPECT_EQ(opened.address(), kAddresses[0]);
    const FakeNode::Wire refused = opened.wire();
    refused->error = ECONNREFUSED;
    refused->events->on_readable();
    EXPECT_EQ(opened.address(), kAddresses[1]);
  }
  EXPECT_EQ(Opened(node, served).address(), kAddresses[1]);
  node.reactor.advance(Ejections::kFirst);
  EXPECT_EQ(Opened(node, served).address(), kAddresses[0]) << "as a trial";
  EXPECT_EQ(Opened(node, served).address(), kAddresses[1]) << "until the trial has ended";
}

TEST(UpstreamConnectionTest, AvoidsAnAddressThatDoesNotAnswer) {
  FakeNode node;
  const auto served = with_addresses(node);
  {
    const Opened opened(node, served);
    EXPECT_EQ(opened.address(), kAddresses[0]);
    node.reactor.advance(UpstreamConnection::kSlowConnect - Duration(1));
    EXPECT_EQ(opened.address(), kAddresses[0]);
    node.reactor.advance(Duration(1));
    EXPECT_EQ(opened.address(), kAddresses[1]);
  }
  EXPECT_EQ(Opened(node, served).address(), kAddresses[1]);
  EXPECT_EQ(node.counters.upstream.ejections.value(), 1u);
}

TEST(UpstreamConnectionTest, AnAddressThatHasAcceptedIsNotAvoided) {
  FakeNode node;
  const auto served = with_addresses(node);
  node.worker->upstreams().addresses(*served).ejections().eject(kAddresses[0], node.reactor.now());
  node.reactor.advance(Ejections::kFirst);
  const Opened opened(node, served);
  EXPECT_EQ(opened.address(), kAddresses[0]) << "as a trial";
  const FakeNode::Wire accepted = opened.wire();
  accepted->events->on_writable();
  EXPECT_TRUE(node.worker->upstreams().addresses(*served).ejections().empty());
  node.reactor.advance(UpstreamConnection::kSlowConnect);
  EXPECT_FALSE(accepted->closed);
}

TEST(UpstreamConnectionTest, UsesAddressesThatItAvoidsIfNoOtherIsLeft) {
  FakeNode node;
  const auto served = with_addresses(node);
  for (const char* address : kAddresses) {
    node.worker->upstreams().addresses(*served).ejections().eject(address, node.reactor.now());
  }
  EXPECT_EQ(Opened(node, served).address(), kAddresses[0]);
}

// Of the server's addresses only the last takes connections.
TEST(UpstreamConnectionTest, TriesTheAddressesOfItsServerUntilOneTakesTheConnection) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  NodeConfig config = node.worker->node();
  config.serves[0].addresses = with_addresses(node)->config.addresses;
  node.set_node(config);
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  node.receive(link, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  const auto fail = [&](bool by_write) {
    const auto tried = node.reactor.wires.back();
    tried->error = ECONNREFUSED;
    by_write ? tried->events->on_writable() : tried->events->on_readable();
    EXPECT_TRUE(tried->closed);
  };
  EXPECT_EQ(node.reactor.wires.back()->address, "tcp:10.0.0.1:1");
  fail(true);
  EXPECT_EQ(node.reactor.wires.back()->address, "tcp:10.0.0.2:1");
  fail(false);
  const auto server = node.reactor.wires.back();
  EXPECT_EQ(server->address, "tcp:[fd00::3]:1");
  EXPECT_TRUE(server->reading);
  EXPECT_TRUE(server->writing);
  server->events->on_writable();
  EXPECT_EQ(server->written, "TLS?");
  const size_t connects = node.reactor.wires.size();
  link->written.clear();
  server->error = ECONNRESET;
  FakeNode::read(server);
  node.reactor.end_iteration();
  EXPECT_EQ(node.reactor.wires.size(), connects) << "the server may have read the bytes";
  EXPECT_NE(link->written, "");
}

TEST(UpstreamConnectionTest, AServerWithoutAKnownAddressIsReportedWithTheReason) {
  FakeNode node;
  const auto link = node.connect_link();
  node.receive(link, hello_bytes("host-b", "host-a"));
  NodeConfig config = node.worker->node();
  config.serves[0].why_unknown = "the lookup of 'kv' has failed";
  node.set_node(config);
  node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  node.receive(link, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  node.reactor.wires.back()->error = EADDRNOTAVAIL;
  node.reactor.wires.back()->events->on_writable();
  node.reactor.end_iteration();
  EXPECT_THAT(link->written, testing::HasSubstr("the lookup of 'kv' has failed"));
}

// Returns what the node logs when it connects to the server.
std::string log_of_connect(FakeNode& node, const std::shared_ptr<const Served>& served) {
  testing::internal::CaptureStderr();
  const UpstreamConnection connection(*node.worker, served, UpstreamConnection::kFirstId);
  return testing::internal::GetCapturedStderr();
}

TEST(UpstreamConnectionTest, WarnsOnceAMinuteAboutEachServiceWithoutItsRing) {
  FakeNode node;
  node.reactor.refusals.insert("shm:/run/kv.ring");
  ServedConfig config = node.worker->node().serves[0];
  config.service = "First";
  config.ring = *parse_address("shm:/run/kv.ring");
  const auto first = std::make_shared<Served>(config, 0);
  config.service = "Second";
  const auto second = std::make_shared<Served>(config, 1);
  const auto warns_of = [](const std::string& service) {
    return testing::HasSubstr("serves." + service + ": no connection to shm:/run/kv.ring");
  };
  EXPECT_THAT(log_of_connect(node, first), warns_of("First"));
  EXPECT_THAT(log_of_connect(node, second), warns_of("Second"));
  EXPECT_EQ(log_of_connect(node, first), "");
  node.reactor.advance(std::chrono::seconds(59));
  EXPECT_EQ(log_of_connect(node, first), "");
  node.reactor.advance(std::chrono::seconds(1));
  EXPECT_THAT(log_of_connect(node, first), warns_of("First"));
}

// Workers share no state for the warning, so each one writes its own.
TEST(UpstreamConnectionTest, EachWorkerWarnsAboutAServiceWithoutItsRing) {
  for (int i = 0; i < 2; ++i) {
    FakeNode node;
    node.reactor.refusals.insert("shm:/run/kv.ring");
    ServedConfig served = node.worker->node().serves[0];
    served.ring = *parse_address("shm:/run/kv.ring");
    EXPECT_NE(log_of_connect(node, std::make_shared<Served>(served, 0)), "");
  }
}

TEST(UpstreamPoolDeathTest, ClosesOnlyConnectionsThatItOpened) {
  FakeNode node;
  const auto served = node.worker->find_served("Kv");
  auto foreign =
      std::make_unique<UpstreamConnection>(*node.worker, served, UpstreamConnection::kFirstId);
  EXPECT_DEATH(node.worker->upstreams().close(std::move(foreign)),
               "the pool did not open this connection");
}

TEST(UpstreamPoolDeathTest, TakesBackOnlyConnectionsThatItOpened) {
  FakeNode node;
  const auto served = node.worker->find_served("Pool");
  auto foreign =
      std::make_unique<UpstreamConnection>(*node.worker, served, UpstreamConnection::kFirstId);
  EXPECT_DEATH(node.worker->upstreams().take_back(std::move(foreign), true),
               "idle.size\\(\\) \\+ parked.size\\(\\) <= shared");
}

}  // namespace
}  // namespace hat
