// SPDX-License-Identifier: Apache-2.0
// config/node.h: *where* calls travel: this node's name, fabric, peers, local endpoints, what it
// serves, limits. One file per node, /etc/hatrpc/hatrpcd.yaml; config/examples/hatrpcd.yaml shows
// every key at its default.
//
//   node: host-a
//   manifests: [/etc/hatrpc/manifests]
//   link: {listen: "tcp:10.0.0.1:7471", tls: {certificate: a.pem, key: a.key, ca: ca.pem}}
//   peers:
//     host-b: {link: "tcp:10.0.0.2:7471"}
//   endpoints:
//     - {listen: "tcp:127.0.0.1:9090", service: HatKV, peers: [host-b]}
//   serves:
//     HatKV: {upstream: "tcp:127.0.0.1:9091"}
//   admin: {listen: "tcp:127.0.0.1:9464", socket: /run/hatrpcd/admin.sock}
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/address.h"
#include "config/manifest.h"
#include "config/mistakes.h"

namespace hat {

// Which fabric carries RDMA lanes. `kAuto` takes a device where one is usable, else kLoop.
enum class FabricKind : uint8_t {
  kAuto,
  kVerbs,  // an RDMA device
  kLoop,   // memory shared with peers on this host
  kTcp,    // none: TCP lanes alone
};

// Faults made on purpose, to see what fails over (engine/fabric/faulty/faulty_fabric.h).
struct FaultsConfig {
  uint64_t seed = 1;
  std::chrono::nanoseconds delay_max{};  // `delay`: of each completion, anything up to this
  uint32_t refused_percent = 0;          // of what lanes are made of
  uint64_t cut_within = 0;     // a lane breaks at one of its first so many requests; 0: none does
  uint64_t silent_within = 0;  // or says nothing more
};

// In the file: one of the words, or a map of these.
struct FabricConfig {
  FabricKind kind = FabricKind::kAuto;
  std::string device;                      // empty: the first with a usable port
  uint8_t port = 0;                        // 0: its first usable one
  int gid_index = -1;                      // -1: ranked and proved
  uint64_t pinned_bytes_max = 144u << 20;  // `max_pinned`: for RDMA, per worker (loop: per link)
  std::optional<FaultsConfig> faults;
};

// How links prove who is at their ends, and keep others from reading along: TLS 1.3, both sides
// with a certificate. Files are PEM; in the file relative to its directory.
struct TlsConfig {
  std::string certificate;         // this node's, then any between it and its CA
  std::string key;                 // its private key
  std::string ca;                  // whose certificates peers must have
  std::string crl;                 // which of these are revoked; empty: none
  std::vector<std::string> allow;  // who may open links here (config/identity.h); empty: all
                                   // that `ca` vouches for
  Place place;
};

struct LinkConfig {
  std::optional<Address> listen;  // absent: this node calls others, none calls it
  bool insecure = false;          // must be said where there is no `tls`
  std::optional<TlsConfig> tls;
  Place place;
};

struct PeerConfig {
  std::string name;
  Address link;
  Place place;
  std::string identity;  // with tls: whom its certificate must name; empty: `name`, as a DNS name
};

struct EndpointConfig {
  Address listen;
  std::string service;             // whose hints hold, and what the peer is asked for
  std::vector<std::string> peers;  // one connection stays with one of them; new ones go round
  uint32_t mode = 0660;            // unix: permission bits
  std::string group;               // unix: owning group's name, or empty for the daemon's own
  Place place;
};

enum class UpstreamMode : uint8_t {
  kMirror,  // one upstream connection per client connection, opened and closed with it
  kShared,  // a pool; a connection carries one call at a time
};

// What a Thrift server reads: TFramedTransport, TBufferedTransport, or THeaderTransport.
enum class ThriftTransport : uint8_t { kFramed, kBuffered, kHeader };
// And in which protocol; by THeaderTransport, each message says its own.
enum class ThriftProtocol : uint8_t { kBinary, kCompact, kJson };

struct ServedConfig {
  std::string service;
  Address upstream;
  UpstreamMode mode = UpstreamMode::kMirror;
  uint32_t connections_max = 0;  // 0: 1024 for mirror, 16 for shared
  // Peers that `allow` restricts must use them; absent: the server's is not known.
  std::optional<ThriftTransport> thrift_transport{};
  std::optional<ThriftProtocol> thrift_protocol{};
  Place place;
};

struct AdminConfig {
  std::optional<Address> listen;  // HTTP: /metrics, /healthz, /readyz, /routes. tcp: only
  std::string socket;             // unix socket for hatctl; empty: none
  Place place;
};

// Every bound the daemon keeps. Keys, units, defaults and ranges: config/limit_keys.h.
struct Limits {
  uint64_t message_bytes_max;   // `max_message`: largest request or reply
  uint64_t buffered_bytes_max;  // `max_buffered`: bytes held for slow readers, all connections
  uint64_t shared_request_bytes_max;   // `shared_request`: larger ones share no connection
  uint64_t shared_reply_bytes_max;     // `shared_reply`: held of a reply on a shared connection
  uint64_t checked_request_bytes_max;  // `checked_request`: held until it is checked (`allow`)
  uint32_t connections_max;            // `max_connections`: local client connections, per endpoint
  uint32_t calls_per_connection_max;   // `max_pipelined`: unanswered calls of one connection
  uint32_t links_max;                  // `max_links`: that peers have to a worker
  uint32_t peer_streams_max;           // `max_peer_connections`: that these carry, per worker
  std::chrono::nanoseconds connect_timeout;           // to a peer, until it has said its hello
  std::chrono::nanoseconds upstream_connect_timeout;  // to a local server
  std::chrono::nanoseconds peer_wait;  // a call waits this long for a link that is being built
  std::chrono::nanoseconds keepalive_interval;  // silence on a link before a ping
  std::chrono::nanoseconds keepalive_timeout;   // silence after which the link is dead
  std::chrono::nanoseconds reconnect_backoff_max;
  std::chrono::nanoseconds call_timeout;   // of functions without timeout_ms; 0: none
  std::chrono::nanoseconds tcp_keepalive;  // before the kernel probes a local connection; 0: never
  std::chrono::nanoseconds drain_timeout;  // SIGTERM to exit, at most
  std::chrono::nanoseconds lane_settle;    // a failed RDMA lane is up for so long before it is used
  std::chrono::nanoseconds spin;           // adaptive polling: look this long before sleeping

  friend bool operator==(const Limits&, const Limits&) = default;
};
Limits default_limits();

struct NodeConfig {
  std::string node;  // in the file perhaps "$VARIABLE", of the environment
  FabricConfig fabric;
  uint32_t workers = 0;            // 0 (`auto`): a quarter of the cores, at least 1, at most 8
  std::optional<int> worker_nice;  // of the worker threads: see nice(2); absent: the process's own
  std::vector<ManifestPath> manifests;  // in the file relative to its directory
  std::string
      profile;  // file of measured costs (config/profile.h), relative as they are; empty: none
  Place profile_place;
  LinkConfig link;
  std::vector<PeerConfig> peers;  // may name this node: its clients then reach its own servers
  std::vector<EndpointConfig> endpoints;
  std::vector<ServedConfig> serves;
  AdminConfig admin;
  Limits limits = default_limits();
};

// How many workers the node has on so many cores.
uint32_t workers_of(const NodeConfig& node, uint32_t cores);
// What of `max_pinned` each of them registers: nine parts, each the same power of two.
uint64_t registered_bytes(const FabricConfig& fabric);

// Reads one file's text; `file` is for places and for relative paths. Every mistake, names that
// point nowhere included, goes to `mistakes`; the result is meaningful if none was added.
NodeConfig read_node_config(const std::string& text, const std::string& file, Mistakes& mistakes);

// read_node_config() of a file's contents; one that cannot be read is a mistake.
NodeConfig load_node_config(const std::string& file, Mistakes& mistakes);

// Warns of services that the node names and no manifest does.
void check_against(const NodeConfig& node, const Manifest& manifest, Mistakes& mistakes);

}  // namespace hat
