// SPDX-License-Identifier: Apache-2.0
// config/node.h: *where* calls travel: this node's name, fabric, peers, local endpoints, served
// services and limits. There is one file per node, /etc/hatrpc/hatrpcd.yaml;
// config/examples/hatrpcd.yaml shows every key with its default.
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
#include "config/diagnostics.h"
#include "config/manifest.h"

namespace hat {

// The fabric that carries RDMA lanes. `kAuto` uses a device if one is usable, else kLoop.
enum class FabricKind : uint8_t {
  kAuto,
  kVerbs,  // an RDMA device
  kLoop,   // memory shared with peers on this host
  kTcp,    // no fabric: TCP lanes only
};

// Faults injected on purpose, to test fail-over (engine/fabric/faulty/faulty_fabric.h).
struct FaultsConfig {
  uint64_t seed = 1;
  std::chrono::nanoseconds delay_max{};  // `delay`: each completion is late by less than this
  // The share of memory registrations and of queue and queue pair creations that fail.
  uint32_t refused_percent = 0;
  // For each lane, the seed chooses a number from 1 to this value. After that number of requests
  // the lane breaks (cut_within) or stops responding (silent_within). 0: never.
  uint64_t cut_within = 0;
  uint64_t silent_within = 0;
};

// In the file: a word for `kind`, or a map with these keys.
struct FabricConfig {
  FabricKind kind = FabricKind::kAuto;
  std::string device;                      // empty: the first one that has a usable port
  uint8_t port = 0;                        // 0: the first usable port of the device
  int gid_index = -1;                      // -1: chosen by rank and by a test
  uint64_t pinned_bytes_max = 144u << 20;  // `max_pinned`: for RDMA, per worker (loop: per link)
  std::optional<FaultsConfig> faults;
};

// TLS of the links: proves the identity of both sides and encrypts the data. TLS 1.3; both sides
// have a certificate. Files are PEM. Relative paths start at the directory of the configuration
// file.
struct TlsConfig {
  std::string certificate;         // this node's, then any between it and its CA
  std::string key;                 // its private key
  std::string ca;                  // the CAs that must have signed the peers' certificates
  std::string crl;                 // lists of those that are revoked; empty: none
  std::vector<std::string> allow;  // peers that may open links here (config/identity.h);
                                   // empty: all peers whose certificates `ca` signed
  SourceLocation location;
};

struct LinkConfig {
  std::optional<Address> listen;  // absent: this node calls peers, but no peer calls this node
  bool insecure = false;          // must be set if there is no `tls`
  std::optional<TlsConfig> tls;
  SourceLocation location;
};

struct PeerConfig {
  std::string name;
  Address link;
  SourceLocation location;
  std::string identity;  // with tls: the rule for its certificate; empty: `name` as a DNS name
};

struct EndpointConfig {
  Address listen;
  std::string service;             // its hints apply, and the peer is asked for it
  std::vector<std::string> peers;  // a connection stays with one peer; new ones take them in turn
  uint32_t mode = 0660;            // unix: permission bits
  std::string group;               // unix: name of the owning group; empty: the daemon's group
  SourceLocation location;
};

enum class UpstreamMode : uint8_t {
  kMirror,  // one upstream connection per client connection; both open and close together
  kShared,  // a pool; a connection carries one call at a time
};

// The transport that a Thrift server reads: TFramedTransport, TBufferedTransport or
// THeaderTransport.
enum class ThriftTransport : uint8_t { kFramed, kBuffered, kHeader };
// The protocol that a Thrift server reads. With THeaderTransport, each message names its own.
enum class ThriftProtocol : uint8_t { kBinary, kCompact, kJson };

struct ServedConfig {
  std::string service;
  Address upstream;
  UpstreamMode mode = UpstreamMode::kMirror;
  uint32_t connections_max = 0;  // per worker; 0: 1024 for mirror, 16 for shared
  // Peers that `allow` restricts must use these. Absent: how the server reads is not known.
  std::optional<ThriftTransport> thrift_transport{};
  std::optional<ThriftProtocol> thrift_protocol{};
  SourceLocation location;
};

struct AdminConfig {
  std::optional<Address> listen;  // HTTP: /metrics, /healthz, /readyz, /routes; only tcp:
  std::string socket;             // unix socket for hatctl; empty: none
  SourceLocation location;
};

// All limits of the daemon. Keys, units, defaults and ranges: config/limit_keys.h.
struct Limits {
  uint64_t message_bytes_max;          // `max_message`: largest request
  uint64_t buffered_bytes_max;         // `max_buffered`: bytes held for slow readers, per worker
  uint64_t shared_request_bytes_max;   // `shared_request`: larger ones get their own connection
  uint64_t shared_reply_bytes_max;     // `shared_reply`: reply bytes held, on a shared connection
  uint64_t checked_request_bytes_max;  // `checked_request`: bytes held for the check (`allow`)
  uint32_t connections_max;            // `max_connections`: of clients, per endpoint and worker
  uint32_t calls_per_connection_max;   // `max_pipelined`: unanswered calls of one connection
  uint32_t links_max;                  // `max_links`: links from peers to one worker
  uint32_t peer_streams_max;           // `max_peer_connections`: of clients, on these links
  std::chrono::nanoseconds connect_timeout;           // to a peer, until its hello has arrived
  std::chrono::nanoseconds upstream_connect_timeout;  // to a local server
  std::chrono::nanoseconds peer_wait;  // maximum wait of a call for a link that is being built
  std::chrono::nanoseconds keepalive_interval;  // silence on a link before a ping
  std::chrono::nanoseconds keepalive_timeout;   // silence after which the link is considered dead
  std::chrono::nanoseconds reconnect_backoff_max;
  std::chrono::nanoseconds call_timeout;   // for functions without timeout_ms; 0: none
  std::chrono::nanoseconds tcp_keepalive;  // silence of a local connection before a probe; 0: never
  std::chrono::nanoseconds drain_timeout;  // longest time from SIGTERM to exit
  std::chrono::nanoseconds lane_settle;    // uptime of a lane after a failure before it is used
  std::chrono::nanoseconds spin;           // adaptive polling: time to poll before sleeping

  friend bool operator==(const Limits&, const Limits&) = default;
};
Limits default_limits();

struct NodeConfig {
  std::string node;  // in the file also "$VARIABLE" of the environment
  FabricConfig fabric;
  uint32_t workers = 0;                 // 0 (`auto`): a quarter of the cores, at least 1, at most 8
  std::optional<int> worker_nice;       // of worker threads, see nice(2); absent: the process's
  std::vector<ManifestPath> manifests;  // in the file, relative to its directory
  // The file of measured costs (config/profile.h), relative like `manifests`; empty: none.
  std::string profile;
  SourceLocation profile_location;
  LinkConfig link;
  std::vector<PeerConfig> peers;  // may include this node: its clients then reach its own servers
  std::vector<EndpointConfig> endpoints;
  std::vector<ServedConfig> serves;
  AdminConfig admin;
  Limits limits = default_limits();
};

// Returns the number of workers that the node runs on a host with `cores` cores.
uint32_t workers_of(const NodeConfig& node, uint32_t cores);
// Returns the part of `max_pinned` that each worker (loop: each link) registers: nine times the
// largest power of two that fits.
uint64_t registered_bytes(const FabricConfig& fabric);

// Reads the text of one file. `file` is used in source locations and as the base of relative paths.
// Adds every error found to `mistakes`, including names that refer to nothing; the result is
// meaningful if none was added.
NodeConfig read_node_config(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics);

// Reads a file and calls read_node_config(). It is an error if the file cannot be read.
NodeConfig load_node_config(const std::string& file, Diagnostics& diagnostics);

// Checks the node configuration against the manifests. Warns if no manifest defines a service that
// the node names, and if `allow` is used without link.tls. Reports an error if mode: shared or
// `allow` needs function lists, signatures or transports that are absent.
void check_against(const NodeConfig& node, const Manifest& manifest, Diagnostics& diagnostics);

}  // namespace hat
