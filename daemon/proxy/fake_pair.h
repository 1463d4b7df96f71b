// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/fake_pair.h: two Workers on one FakeReactor, for tests. Clients of host-a call the
// service Kv at host-b. The two nodes have a link, and RDMA lanes over the loop fabric.
#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "daemon/proxy/fake_node.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat {

// Returns a framed binary message with the name `get`, the sequence id 1, the type `type` and one
// string field of `bytes` bytes.
inline std::string get_message(char type, int16_t field, size_t bytes) {
  const auto big_endian = [](uint64_t value, size_t width) {
    std::string text;
    for (size_t i = width; i-- > 0;) text += static_cast<char>(value >> (8 * i));
    return text;
  };
  std::string message =
      std::string("\x80\x01\x00", 3) + type + big_endian(3, 4) + "get" + big_endian(1, 4);
  message += "\x0b" + big_endian(static_cast<uint16_t>(field), 2) + big_endian(bytes, 4) +
             std::string(bytes, 'x') + '\0';
  return big_endian(message.size(), 4) + message;
}
inline std::string get_call(size_t bytes = 8) { return get_message('\1', 1, bytes); }
inline std::string get_reply(size_t bytes = 8) { return get_message('\2', 0, bytes); }

class FakePair {
 public:
  using WirePointer = std::shared_ptr<FakeStream::Wire>;

  struct Node {
    Node(FakeReactor& reactor, const engine::OpenFabric& open_fabric) {
      rdma = std::move(*engine::RdmaHost::create(
          reactor, *open_fabric(), {.arena = {.bytes = {4 << 20, 4 << 20, 2 << 20}}}));
    }
    void start(FakeReactor& reactor, NodeConfig config, const FunctionSpec& function,
               const engine::HostFacts& host) {
      const Manifest manifest{"", {{"Kv", {}, {function}, ""}}};
      auto routes = std::make_shared<RoutingTable>(1, manifest, std::vector<std::string>{"Kv"},
                                                   host, metrics, config.serves);
      worker = std::make_unique<Worker>(
          reactor, Worker::Setup{.generation = 1,
                                 .node = std::make_shared<NodeConfig>(std::move(config)),
                                 .routes = std::move(routes),
                                 .counters = &counters,
                                 .access_log = &access_log,
                                 .detached = &detached,
                                 .spans = &spans,
                                 .rdma = rdma.get()});
    }
    void hear_of_the_fabric() {  // a FakeReactor does not watch descriptors
      rdma->take_fabric_events();
    }

    WorkerCounters counters;
    AccessLog access_log{1};  // logs nothing until a test calls open() and set()
    DetachedConnections detached;
    Spans spans{1};
    MetricsRegistry metrics{1};
    std::unique_ptr<engine::RdmaHost> rdma;
    std::unique_ptr<Worker> worker;
  };

  // The host of host-b, and the highest link version in the hello of its daemon: a daemon
  // of a version below 7 does not send the cores of its host.
  struct Server {
    engine::CoreCounts cores{8, 8};
    uint16_t link_version = engine::kLinkVersion;
    UpstreamMode mode = UpstreamMode::kMirror;
    // The caller's endpoint has a second peer, host-c, with which no link comes up.
    bool is_one_of_two = false;
    uint16_t caller_link_version = engine::kLinkVersion;
  };

  // The server's worker polls for this time after a call with adaptive polling, and the caller's
  // for another time, so that FakeReactor::polled_for shows which of them has polled.
  static constexpr Duration kServerSpin = std::chrono::microseconds(77);

  // Starts the two nodes. Their manifest lists the function `get`, by default without hints. The
  // host of host-a has 8 cores, unless `caller_host` says otherwise. Each node opens a fabric by
  // `open_fabric`.
  explicit FakePair(const FunctionSpec& function = {.name = "get"})
      : FakePair(function, Server()) {}
  FakePair(const FunctionSpec& function, const Server& server_host,
           const engine::OpenFabric& open_fabric = &engine::open_loop_fabric,
           const engine::HostFacts& caller_host = {8, 8, true, ""})
      : a_(reactor_, open_fabric), b_(reactor_, open_fabric) {
    NodeConfig caller{.node = "host-a"};
    caller.peers = {{"host-b", *parse_address("tcp:127.0.0.1:9465"), {}}};
    caller.endpoints = {{*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b"}}};
    if (server_host.is_one_of_two) {
      caller.peers.push_back({"host-c", *parse_address("tcp:127.0.0.1:9466"), {}});
      caller.endpoints[0].peers.emplace_back("host-c");
    }
    NodeConfig server{.node = "host-b"};
    server.serves = {{"Kv", *parse_address("tcp:127.0.0.1:9091"), server_host.mode}};
    server.limits.spin = kServerSpin;
    a_.start(reactor_, std::move(caller), function, caller_host);
    b_.start(reactor_, std::move(server), function,
             {server_host.cores.cores, server_host.cores.nic_cores, true, ""});
    here_ = reactor_.wires.front();
    b_.worker->accept_link(accept());
    there_ = reactor_.wires.back();
    reactor_.end_iteration();
    if (server_host.caller_link_version != engine::kLinkVersion) {
      make_older(here_->written, server_host.caller_link_version);
    }
    if (server_host.link_version != engine::kLinkVersion) {
      carry(*here_, there_);
      reactor_.end_iteration();
      make_older(there_->written, server_host.link_version);
    }
    pass(std::chrono::milliseconds(10));
  }

  FakeReactor& reactor() { return reactor_; }
  Node& caller() { return a_; }
  Node& server() { return b_; }
  // Delivers bytes to the caller over the link's TCP connection, as if the server's node had sent
  // them.
  void receive_over_tcp(const std::string& bytes) {
    here_->incoming += bytes;
    FakeNode::read(here_);
    reactor_.end_iteration();
  }
  // Delivers bytes to the server's node over the link's TCP connection, as if the caller had sent
  // them.
  void server_receives_over_tcp(const std::string& bytes) {
    there_->incoming += bytes;
    FakeNode::read(there_);
    reactor_.end_iteration();
  }
  // Returns the two ends of the link's TCP connection, on the caller's and on the server's side.
  // Their member `written` has the bytes that pass() will deliver to the other side.
  const WirePointer& caller_link() const { return here_; }
  const WirePointer& server_link() const { return there_; }
  // Returns the server's connection, which the server's node has opened last.
  const WirePointer& server_connection() {
    if (server_ == nullptr) {
      server_ = reactor_.wires.back();
      server_->events->on_writable();
    }
    return server_;
  }
  WirePointer connect_client() {
    a_.worker->accept_client(0, accept());
    return reactor_.wires.back();
  }
  // Lets time pass, and exchanges what the two workers send on the link and on lanes.
  void pass(Duration time) {
    constexpr Duration kStep = std::chrono::milliseconds(5);
    for (; time > Duration(); time -= kStep) {
      carry(*here_, there_);
      carry(*there_, here_);
      a_.hear_of_the_fabric();
      b_.hear_of_the_fabric();
      reactor_.end_iteration();
      reactor_.advance(kStep);
    }
  }
  // Makes a call, to which the server replies after `think`. Returns what the client gets. The pair
  // can have only one client that calls.
  std::string call(const WirePointer& client, const std::string& request, const std::string& reply,
                   Duration think = std::chrono::milliseconds(50)) {
    send(client, request);
    pass(think);
    return answer(client, reply);
  }
  // Writes a request. Returns true if the link's TCP connection carries it.
  bool send(const WirePointer& client, const std::string& request) {
    client->incoming += request;
    FakeNode::read(client);
    reactor_.end_iteration();
    return here_->written.find(request.substr(4)) != std::string::npos;
  }
  // Lets the server reply. The reply waits at the server's node, or on an RDMA lane.
  void server_replies(const std::string& reply) {
    server_connection()->incoming += reply;
    FakeNode::read(server_);
    reactor_.end_iteration();
  }
  // Lets the server reply. Returns what the client gets until 50 ms later.
  std::string answer(const WirePointer& client, const std::string& reply) {
    server_replies(reply);
    pass(std::chrono::milliseconds(50));
    return std::exchange(client->written, {});
  }

 private:
  // Makes a hello as a daemon with this highest link version sends it (docs/link.md, "Hello").
  static void make_older(std::string& hello, uint16_t link_version) {
    constexpr size_t kVersionMaxAt = sizeof(engine::FrameHeader) + 6;
    std::memcpy(hello.data() + kVersionMaxAt, &link_version, sizeof link_version);
    if (link_version >= engine::kLinkVersionOfCores) return;
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
  static void carry(WirePointer::element_type& from, const WirePointer& to) {
    to->incoming += std::exchange(from.written, {});
    FakeNode::read(to);
  }

  FakeReactor reactor_;
  Node a_;
  Node b_;
  WirePointer here_;
  WirePointer there_;
  WirePointer server_;
};

}  // namespace hat
