// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/peer_lanes_idle_test.cc: tests which RDMA lanes two workers open for a
// call, and which of them stay open while no call is in flight.
#include "daemon/proxy/outbound/peer_lanes.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using WirePointer = std::shared_ptr<FakeStream::Wire>;

// A framed binary call of `get`, and its reply.
const std::string kGetCall(
    "\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);
const std::string kGetReply(
    "\x00\x00\x00\x10\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);

// The workers of two nodes: clients of host-a call Kv at host-b. The lanes use the loop fabric, and
// the two workers share one clock.
class TwoWorkers : public testing::Test {
 protected:
  struct Node {
    explicit Node(FakeReactor& reactor) {
      rdma = std::move(*engine::RdmaHost::create_per_link(
          reactor, engine::open_loop_fabric, {.arena = {.bytes = {4 << 20, 4 << 20, 2 << 20}}}));
    }
    void start(FakeReactor& reactor, NodeConfig config, const Hints& hints,
               const engine::HostFacts& host) {
      const HintGroups groups{.both = hints, .client = {}, .server = {}};
      const Manifest manifest{"", {{"Kv", groups, {{.name = "get"}}, ""}}};
      auto routes = std::make_shared<RoutingTable>(1, manifest, std::vector<std::string>{"Kv"},
                                                   host, metrics, config.serves);
      worker = std::make_unique<Worker>(
          reactor, Worker::Setup{.generation = 1,
                                 .node = std::make_shared<NodeConfig>(std::move(config)),
                                 .routes = std::move(routes),
                                 .counters = &counters,
                                 .detached = &detached,
                                 .rdma = rdma.get()});
    }
    void hear_of_the_fabric() {  // a FakeReactor does not watch descriptors
      for (const auto& domain : rdma->domains()) domain->take_fabric_events();
    }

    WorkerCounters counters;
    DetachedConnections detached;
    MetricsRegistry metrics{1};
    std::unique_ptr<engine::RdmaHost> rdma;
    std::unique_ptr<Worker> worker;
  };

  // `hints` are the hints of Kv, and `server_host` are the cores of the host of host-b.
  explicit TwoWorkers(const Hints& hints = {}, engine::CoreCounts server_host = {8, 8},
                      bool server_sends_cores = true) {
    NodeConfig caller{.node = "host-a"};
    caller.peers = {{"host-b", *parse_address("tcp:127.0.0.1:9465"), {}}};
    caller.endpoints = {{*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b"}}};
    NodeConfig server{.node = "host-b"};
    server.serves = {{"Kv", *parse_address("tcp:127.0.0.1:9091")}};
    const engine::HostFacts host{8, 8, true, ""};
    a_.start(reactor_, std::move(caller), hints, host);
    b_.start(reactor_, std::move(server), hints, host.with(server_host));
    here_ = reactor_.wires.back();
    b_.worker->accept_link(accept());
    there_ = reactor_.wires.back();
    if (!server_sends_cores) {
      reactor_.end_iteration();
      carry(*here_, there_);
      reactor_.end_iteration();
      remove_cores(there_->written);
    }
    pass(10ms);
  }

  // Makes a hello as a daemon of link version 6 sends it.
  static void remove_cores(std::string& hello) {
    engine::FrameHeader header;
    std::memcpy(&header, hello.data(), sizeof header);
    header.payload_bytes -= uint32_t{sizeof(engine::CoreCounts)};
    hello.resize(sizeof header + header.payload_bytes);
    std::memcpy(hello.data(), &header, sizeof header);
  }

  ListenerEvents::Accept accept() {
    return [this](StreamEvents& events) {
      return reactor_.connect(*parse_address("tcp:127.0.0.1:1"), events);
    };
  }
  WirePointer connect_client() {
    a_.worker->accept_client(0, accept());
    return reactor_.wires.back();
  }
  // Lets time pass, and exchanges what the two workers send on the link and on lanes.
  void pass(Duration time) {
    constexpr Duration kStep = 5ms;
    for (; time > Duration(); time -= kStep) {
      carry(*here_, there_);
      carry(*there_, here_);
      a_.hear_of_the_fabric();
      b_.hear_of_the_fabric();
      reactor_.end_iteration();
      reactor_.advance(kStep);
    }
  }
  static void carry(WirePointer::element_type& from, const WirePointer& to) {
    to->incoming += std::exchange(from.written, {});
    FakeNode::read(to);
  }
  void call(const WirePointer& client) {
    client->incoming += kGetCall;
    FakeNode::read(client);
    pass(50ms);
    if (server_ == nullptr) {
      server_ = reactor_.wires.back();
      server_->events->on_writable();
    }
    server_->incoming += kGetReply;
    FakeNode::read(server_);
    pass(50ms);
    EXPECT_EQ(std::exchange(client->written, {}), kGetReply);
  }
  std::vector<LaneStatus> lanes() const { return a_.worker->link_status().at(0).lanes; }
  uint64_t fallbacks() {
    uint64_t count = 0;
    for (FunctionMetrics& function : a_.metrics.all()) {
      for (const Counter& one : function.at(Side::kClient, 0).fallbacks) count += one.value();
    }
    return count;
  }

  FakeReactor reactor_;
  Node a_{reactor_};
  Node b_{reactor_};
  WirePointer here_;
  WirePointer there_;
  WirePointer server_;
};

// The first call finds no lane, opens one, and uses TCP. The lane is then idle for 40 s, and must
// still be open for the second call.
TEST_F(TwoWorkers, KeepALaneWhileAClientOfItsServiceIsConnected) {
  const WirePointer client = connect_client();
  call(client);
  ASSERT_EQ(lanes().size(), 1u);
  ASSERT_EQ(lanes()[0].state, "up");
  pass(40s);
  EXPECT_EQ(lanes().size(), 1u);
  call(client);
  EXPECT_EQ(fallbacks(), 1u) << "the call after the pause missed RDMA";
}

TEST_F(TwoWorkers, GiveALaneBackAfterTheLastClientHasLeft) {
  const WirePointer client = connect_client();
  call(client);
  client->end = true;
  FakeNode::read(client);
  pass(25s);
  EXPECT_EQ(lanes().size(), 1u) << "a client that comes soon finds it";
  pass(10s);
  EXPECT_EQ(lanes().size(), 0u);
}

const Hints kFourCallers{
    .perf_goal = PerfGoal::kThroughput, .concurrency = 4u, .payload_bytes = 128 * 1024};

struct ServerWithTwoCores : TwoWorkers {
  ServerWithTwoCores() : TwoWorkers(kFourCallers, {2, 2}) {}
};
struct OlderServer : TwoWorkers {
  OlderServer() : TwoWorkers(kFourCallers, {2, 2}, false) {}
};

// Four callers are fewer than the 8 cores of host-a, but more than the 2 cores of host-b.
TEST_F(ServerWithTwoCores, RepliesByTheColumnOfItsOwnHost) {
  call(connect_client());
  ASSERT_EQ(lanes().size(), 1u);
  EXPECT_EQ(lanes().at(0).protocol, "direct_write_imm / rfp");
  EXPECT_EQ(a_.worker->link_status().at(0).cores, (engine::CoreCounts{2, 2}));
}

TEST_F(OlderServer, RepliesByTheColumnOfTheClientsHost) {
  call(connect_client());
  ASSERT_EQ(lanes().size(), 1u);
  EXPECT_EQ(lanes().at(0).protocol, "direct_write_imm");
  EXPECT_EQ(a_.worker->link_status().at(0).cores, std::nullopt);
}

}  // namespace
}  // namespace hat
