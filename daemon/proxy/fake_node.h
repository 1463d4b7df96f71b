// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/fake_node.h: one Worker on a FakeReactor, for tests. A test plays the Worker's
// clients, peers and servers: it reads and writes the bytes of their connections.
#pragma once

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "daemon/proxy/worker.h"
#include "tests/fake_reactor.h"

namespace hat {

// Returns the bytes of a frame with this header and payload.
inline std::string frame_bytes(engine::FrameHeader header, const std::string& payload = "") {
  header.payload_bytes = static_cast<uint32_t>(payload.size());
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
}

// Returns the bytes of the hello that node `node` sends to node `peer`.
inline std::string hello_bytes(const std::string& node, const std::string& peer) {
  const auto hello = engine::encode({.generation = 42, .node = node, .peer = peer});
  return frame_bytes({.kind = engine::FrameKind::kHello},
                     {reinterpret_cast<const char*>(hello.data()), hello.size()});
}

// Returns the bytes that precede the request in the payload of a kCall frame: a CallMeta and the
// function's name.
inline std::string call_meta(const std::string& name, int32_t id,
                             uint16_t link_version = engine::kLinkVersion) {
  const engine::CallMeta meta{.name_bytes = static_cast<uint16_t>(name.size()), .id = id};
  const size_t bytes = engine::call_meta_bytes({.version_max = link_version});
  return std::string(reinterpret_cast<const char*>(&meta), bytes) + name;
}

// Returns the headers of the frames in `bytes`.
inline std::vector<engine::FrameHeader> headers_in(std::string_view bytes) {
  std::vector<engine::FrameHeader> headers;
  while (bytes.size() >= sizeof(engine::FrameHeader)) {
    std::memcpy(&headers.emplace_back(), bytes.data(), sizeof(engine::FrameHeader));
    bytes.remove_prefix(sizeof(engine::FrameHeader) + headers.back().payload_bytes);
  }
  return headers;
}

// Returns the kinds of the frames in `bytes`, without those that only give credit.
inline std::vector<engine::FrameKind> kinds_in(std::string_view bytes) {
  std::vector<engine::FrameKind> kinds;
  for (const engine::FrameHeader& header : headers_in(bytes)) {
    if (header.kind != engine::FrameKind::kCredit) kinds.push_back(header.kind);
  }
  return kinds;
}

// Returns limits with a keepalive of 1 h, so that links stay up although the peer answers no ping.
inline Limits without_pings() {
  Limits limits = default_limits();
  limits.keepalive_interval = limits.keepalive_timeout = std::chrono::hours(1);
  return limits;
}

// A failure that the daemon on the server's side reports: of a call (frame kFail) or of a stream
// (frame kReset).
struct ReportedFailure {
  engine::FrameKind kind;
  uint64_t call;
  engine::Failure failure;
  bool operator==(const ReportedFailure&) const = default;
};
// Returns the failures that the frames in `bytes` report.
inline std::vector<ReportedFailure> failures_in(std::string_view bytes) {
  std::vector<ReportedFailure> failures;
  for (const engine::FrameHeader& header : headers_in(bytes)) {
    bytes.remove_prefix(sizeof header);
    engine::FailMeta meta;
    if (header.payload_bytes >= sizeof meta) std::memcpy(&meta, bytes.data(), sizeof meta);
    bytes.remove_prefix(header.payload_bytes);
    const bool fails =
        header.kind == engine::FrameKind::kFail || header.kind == engine::FrameKind::kReset;
    if (fails) failures.push_back({header.kind, header.call, meta.failure});
  }
  return failures;
}

// Returns a Thrift frame of `bytes` bytes whose THeader header fills the whole frame, so that there
// is no message.
inline std::string theader_without_message(uint32_t bytes) {
  const uint32_t size = bytes - 4;
  const uint32_t words = (size - 10) / 4;
  std::string frame{static_cast<char>(size >> 24),
                    static_cast<char>(size >> 16),
                    static_cast<char>(size >> 8),
                    static_cast<char>(size),
                    '\x0f',
                    '\xff',
                    0,
                    0,
                    0,
                    0,
                    0,
                    1,
                    static_cast<char>(words >> 8),
                    static_cast<char>(words)};
  return frame + std::string(size - 10, '\0');
}

// Stands in for TLS: each peer has proved the names that the test sets, without a certificate.
class FakeSeal final : public engine::Seal {
 public:
  explicit FakeSeal(std::vector<std::string> names) : names_(std::move(names)) {}
  // Sets the names that peers have proved on connections made from now on.
  void prove(std::vector<std::string> names) { names_ = std::move(names); }

  std::unique_ptr<ByteStream> connect(const std::string&, const engine::OpenStream& open,
                                      StreamEvents& events) override {
    return std::make_unique<Named>(open(events), names_);
  }
  std::unique_ptr<ByteStream> accept(const engine::OpenStream& open,
                                     StreamEvents& events) override {
    return std::make_unique<Named>(open(events), names_);
  }

 private:
  struct Named final : ByteStream {
    Named(std::unique_ptr<ByteStream> under, const std::vector<std::string>& peer)
        : stream(std::move(under)), names(peer) {}
    IoResult read(std::span<std::byte> into) override { return stream->read(into); }
    IoResult write(std::span<const iovec> from) override { return stream->write(from); }
    void shutdown_write() override { stream->shutdown_write(); }
    void want_read(bool wanted) override { stream->want_read(wanted); }
    void want_write(bool wanted) override { stream->want_write(wanted); }
    void read_again() override { stream->read_again(); }
    void abort_on_close() override { stream->abort_on_close(); }
    std::span<const std::string> peer_names() const override { return names; }

    std::unique_ptr<ByteStream> stream;
    const std::vector<std::string> names;
  };

  std::vector<std::string> names_;
};

// Node host-a, with one endpoint, for service Kv at peer host-b. The node also serves two services
// from local servers: Kv in mirror mode, and Pool in shared mode with two upstream connections. Its
// manifest lists the functions Kv.get, Kv.touch, which is idempotent, Pool.get, Pool.put,
// Pool.note, which is oneway, and Pool.urgent, which has a high priority on the server's side.
class FakeNode {
 public:
  using Wire = std::shared_ptr<FakeStream::Wire>;

  // Starts the node. `access` is the `allow` rule of Kv.get. If `access` is given, the manifest
  // also lists Kv.put and Kv.unsigned, the functions `get` and `put` of both services have one
  // string argument, Kv.unsigned has no argument types, and the configuration says that Pool's
  // server uses framed binary. `seal` is the TLS of the node's links; null: no TLS. `keeps_links`:
  // see Worker::Setup.
  explicit FakeNode(const Limits& limits = default_limits(),
                    const std::optional<AccessRule>& access = std::nullopt,
                    engine::Seal* seal = nullptr, bool keeps_links = true)
      : worker(std::make_unique<Worker>(reactor, setup(limits, access, seal, keeps_links))) {
    reactor.end_iteration();
  }

  // Returns the far end of the node's first connection to host-b.
  Wire peer_wire() { return reactor.wires.front(); }
  // Connects a client to the endpoint, and returns the client's end.
  Wire connect_client() {
    worker->accept_client(0, accept());
    return reactor.wires.back();
  }
  // Connects a peer that opens a link, and returns the peer's end.
  Wire connect_link() {
    worker->accept_link(accept());
    return reactor.wires.back();
  }
  // Returns a function that makes a connection and appends its far end to reactor.wires.
  ListenerEvents::Accept accept() {
    return [this](StreamEvents& events) {
      return reactor.connect(*parse_address("tcp:127.0.0.1:1"), events);
    };
  }
  // Delivers `bytes` to the node over `wire`, lets the node read as many as it wants, and then ends
  // the iteration.
  void receive(const Wire& wire, const std::string& bytes) {
    wire->incoming += bytes;
    read(wire);
    reactor.end_iteration();
  }
  // Changes the node's configuration, as a reload does.
  void set_node(NodeConfig next) {
    std::vector<ServedConfig> serves = worker->node().serves;
    serves.insert(serves.end(), next.serves.begin(), next.serves.end());
    std::vector<std::string> services = {"Kv", "Pool"};
    for (const EndpointConfig& endpoint : next.endpoints) {
      if (std::ranges::count(services, endpoint.service) == 0) services.push_back(endpoint.service);
    }
    worker->set_node(std::make_shared<NodeConfig>(std::move(next)),
                     make_routes(++generation_, services, serves));
    reactor.end_iteration();
  }
  // Lets the node read the bytes that wait on `wire`, until the node wants no more of them.
  static void read(const Wire& wire) {
    size_t before = 0;
    do {
      before = wire->incoming.size();
      if (!wire->closed && wire->reading) wire->notify_readable();
    } while (!wire->closed && wire->incoming.size() < before);
  }

  FakeReactor reactor;
  WorkerCounters counters;
  AccessLog access_log{1};  // logs nothing until a test calls open() and set()
  Spans spans{1};
  DetachedConnections detached;
  MetricsRegistry metrics{1};

 private:
  // Declared before `worker`, because setup() uses them.
  Manifest manifest_;
  uint64_t generation_ = 1;

 public:
  std::unique_ptr<Worker> worker;

 private:
  Worker::Setup setup(const Limits& limits, const std::optional<AccessRule>& access,
                      engine::Seal* seal, bool keeps_links) {
    NodeConfig node{.node = "host-a", .limits = limits};
    node.peers = {{"host-b", *parse_address("tcp:127.0.0.1:9465"), {}}};
    node.endpoints = {{*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b"}}};
    const Address server = *parse_address("tcp:127.0.0.1:9091");
    node.serves = {{"Kv", server, UpstreamMode::kMirror},
                   {"Pool", server, UpstreamMode::kShared, 2}};
    FunctionSpec get{.name = "get"};
    get.hints.both.timeout = std::chrono::seconds(1);
    FunctionSpec touch{.name = "touch"};
    touch.hints.both.idempotent = true;
    touch.hints.both.timeout = std::chrono::seconds(1);
    std::vector<FunctionSpec> mirrored = {get};
    std::vector<FunctionSpec> pooled = {
        {.name = "get"}, {.name = "put"}, {.name = "note", .oneway = true}};
    pooled.push_back({.name = "urgent"});
    pooled.back().hints.server.priority = Priority::kHigh;
    if (access) {
      node.serves[1].thrift_transport = ThriftTransport::kFramed;
      node.serves[1].thrift_protocol = ThriftProtocol::kBinary;
      mirrored[0].access = access;
      mirrored.push_back({.name = "put"});
      mirrored.push_back({.name = "unsigned"});
      for (FunctionSpec* function : {&mirrored[0], &mirrored[1], &pooled[0], &pooled[1]}) {
        function->arguments = {{.id = 1, .type = {.wire = WireType::kString}}};
      }
    }
    mirrored.push_back(touch);
    manifest_ = {"", {{"Kv", {}, mirrored, ""}, {"Pool", {}, pooled, ""}}};
    auto routes = make_routes(generation_, {"Kv", "Pool"}, node.serves);
    return {.generation = 1,
            .node = std::make_shared<NodeConfig>(std::move(node)),
            .routes = std::move(routes),
            .counters = &counters,
            .access_log = &access_log,
            .detached = &detached,
            .spans = &spans,
            .seal = seal,
            .keeps_links = keeps_links};
  }
  std::shared_ptr<const RoutingTable> make_routes(uint64_t generation,
                                                  const std::vector<std::string>& services,
                                                  const std::vector<ServedConfig>& serves) {
    const engine::HostFacts host{8, 8, false, "none is here"};
    return std::make_shared<RoutingTable>(generation, manifest_, services, host, metrics, serves);
  }
};

}  // namespace hat
