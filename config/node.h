// SPDX-License-Identifier: Apache-2.0
// config/node.h: reads the configuration of one hatrpcd (a node): its name, fabric, peers, local
// endpoints, served services and limits. The file is usually /etc/hatrpc/hatrpcd.yaml. The file
// config/examples/hatrpcd.yaml shows every key with its default. For example:
//
//   node: host-a
//   manifests: [/etc/hatrpc/manifests]
//   link: {listen: "tcp:10.0.0.1:7471", tls: {certificate: a.pem, key: a.key, ca: ca.pem}}
//   peers:
//     host-b: {link: "tcp:10.0.0.2:7471"}
//   endpoints:
//     - {listen: "tcp:127.0.0.1:9090", ring: /run/hatrpcd/kv.ring, service: HatKV, peers: [host-b]}
//   serves:
//     HatKV: {upstream: "tcp:127.0.0.1:9091"}
//   admin: {listen: "tcp:127.0.0.1:9464", socket: /run/hatrpcd/admin.sock}
#pragma once

#include <sys/types.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "base/cores.h"
#include "config/diagnostics.h"
#include "config/duration_buckets.h"
#include "config/manifest.h"

namespace hat {

// The fabric (implementation of RDMA operations) that carries RDMA lanes. kAuto means kVerbs if the
// host has a usable RDMA device, and kLoop otherwise.
enum class FabricKind : uint8_t {
  kAuto,
  kVerbs,  // an RDMA device
  kLoop,   // memory shared with peers on this host
  kTcp,    // no fabric: TCP lanes only
};
inline constexpr std::array<std::string_view, 4> kFabricWords = {"auto", "verbs", "loop", "tcp"};

// The faults that the daemon injects on purpose, to test fail-over
// (engine/fabric/faulty/faulty_fabric.h).
struct FaultsConfig {
  uint64_t seed = 1;
  // The key `delay`: each completion is delayed by a random time below this value.
  std::chrono::nanoseconds delay_max{};
  // The percentage of these operations that fail: memory registrations, and the creation of
  // completion queues, receive queues and queue pairs.
  uint32_t refused_percent = 0;
  // Each RDMA lane breaks after a random number of work requests, from 1 to cut_within. In the same
  // way, each lane stops responding after a random number from 1 to silent_within. The value 0
  // means never.
  uint64_t cut_within = 0;
  uint64_t silent_within = 0;

  friend bool operator==(const FaultsConfig&, const FaultsConfig&) = default;
};

// The key `fabric`. Its value in the file is either one word, which sets `kind`, or a map.
struct FabricConfig {
  FabricKind kind = FabricKind::kAuto;
  std::string device;  // empty: the first RDMA device that has a usable port
  uint8_t port = 0;    // 0: the first usable port of the device
  int gid_index = -1;  // -1: the best GID that passes a test
  // The key `max_pinned`: the most memory that a link with lanes may pin for RDMA.
  uint64_t pinned_bytes_max = 144u << 20;
  // The folder of the unix sockets of the fabric `loop`; empty: the sockets are abstract.
  std::string loop_folder;
  std::optional<FaultsConfig> faults;

  friend bool operator==(const FabricConfig&, const FabricConfig&) = default;
};

// The TLS settings of links. The two daemons of a link prove their identities with certificates
// (TLS 1.3), and encrypt the data on TCP. The files are in PEM format. Relative paths start at the
// directory of the configuration file.
struct TlsConfig {
  std::string certificate;         // this node's certificate, followed by intermediate ones
  std::string key;                 // the private key of this node's certificate
  std::string ca;                  // the CAs that must have signed the peers' certificates
  std::string crl;                 // lists of revoked certificates, or empty
  std::vector<std::string> allow;  // identity rules of the peers that may open links to this node;
                                   // empty: every peer whose certificate `ca` has signed
  SourceLocation location;
};

struct LinkConfig {
  std::optional<Address> listen;  // nullopt: this node calls peers, but peers cannot call this node
  bool insecure = false;          // true: links are neither authenticated nor encrypted
  std::optional<TlsConfig> tls;
  SourceLocation location;
};

// The kinds of values of a peer's key `link`, and of a service's key `upstream`.
enum class NameKind : uint8_t {
  kAddress,    // tcp:HOST:PORT, or a path: one daemon or server
  kAllOfHost,  // dns:HOST:PORT: one at each address of the host
  kService,    // srv:NAME: those of the DNS records SRV of the name
};

struct PeerConfig {
  std::string name;
  Address link;  // with kService: only `host`, the name of the records
  SourceLocation location;
  // For links with TLS: the identity rule that a name in the peer's certificate must match. If this
  // is empty, the certificate must have name_in_file() as a DNS name.
  std::string identity;
  // The file of costs measured with this peer, which replace those of NodeConfig::profile in plans
  // for calls to it; empty if there is none.
  std::string profile;
  SourceLocation profile_location;
  // The services that the peer serves, for endpoints without `peers`.
  std::vector<std::string> serves{};
  NameKind kind = NameKind::kAddress;
  // How many new client connections this peer gets for each one of a peer with the weight 1.
  uint32_t weight = 1;
  std::string zone{};  // peers in the node's own zone are preferred; empty: in no zone
  // Members that the file does not have, set by expand() (daemon/discovery/expand.h):
  std::string group{};        // the peer of the file to which this daemon belongs, or empty
  std::string why_unknown{};  // the reason why no address is known, or empty
};
// Returns the name that the file has for this peer, or for its group.
inline const std::string& name_in_file(const PeerConfig& peer) {
  return peer.group.empty() ? peer.name : peer.group;
}
// Returns the value of the key `link`.
std::string link_text(const PeerConfig& peer);

struct EndpointConfig {
  Address listen;
  std::string service;  // the service that clients of this endpoint call
  // The peers that serve the service. If the file names none, these are the peers with the service
  // in their `serves`. Each new client connection takes one that can take calls
  // (daemon/proxy/outbound/peer_choice.h), and stays with this peer as long as its server keeps
  // state for it.
  std::vector<std::string> peers;
  uint32_t mode = 0660;  // for a unix socket: the permission bits of its path
  std::string group;     // for a unix socket: the owning group of its path; empty: the daemon's
  // The ring that clients of `listen`, a TCP address, can use instead (`hatctl run`). It is also an
  // endpoint of its own: the next one in NodeConfig::endpoints.
  std::optional<Address> ring{};
  SourceLocation location;
};

enum class UpstreamMode : uint8_t {
  kMirror,  // each client connection has its own connection to the server; both end together
  kShared,  // many clients share a few connections to the server, one call at a time on each
};
inline constexpr std::array<std::string_view, 2> kUpstreamModeWords = {"mirror", "shared"};

// The transport that a Thrift server reads: TFramedTransport, TBufferedTransport or
// THeaderTransport.
enum class ThriftTransport : uint8_t { kFramed, kBuffered, kHeader };
inline constexpr std::array<std::string_view, 3> kThriftTransportWords = {"framed", "buffered",
                                                                          "header"};
// The protocol that a Thrift server reads. With THeaderTransport, each message names its protocol,
// so the key may be absent; if it is set, requests of restricted peers must use this protocol.
enum class ThriftProtocol : uint8_t { kBinary, kCompact, kJson };
inline constexpr std::array<std::string_view, 3> kThriftProtocolWords = {"binary", "compact",
                                                                         "json"};

// In the place of a service's name: every service. Only in the process of an application
// (client/rdma/prepared.h); in a file, it is an error.
inline constexpr std::string_view kAnyService = "*";

struct ServedConfig {
  std::string service;
  Address upstream;  // with kService: only `host`, the name of the records
  UpstreamMode mode = UpstreamMode::kMirror;
  // The maximum number of connections from one worker to the server. The value 0 means 1024 with
  // kMirror, and 16 with kShared.
  uint32_t connections_max = 0;
  // The Thrift transport and the Thrift protocol that the server reads; nullopt if unknown. Peers
  // that an `allow` rule restricts must use this transport and protocol in their requests.
  std::optional<ThriftTransport> thrift_transport{};
  std::optional<ThriftProtocol> thrift_protocol{};
  // The ring of the server at `upstream`, a TCP address. The daemon connects to the ring, or to
  // `upstream` if no process listens at the ring.
  std::optional<Address> ring{};
  // Members that the file does not have, set by expand() (daemon/discovery/expand.h):
  std::vector<Address> addresses{};  // of the host in `upstream`; empty if that is numeric
  std::string why_unknown{};         // the reason why no address is known, or empty
  SourceLocation location;
  NameKind kind = NameKind::kAddress;
};
// Returns the value of the key `upstream`.
std::string upstream_text(const ServedConfig& served);

struct AdminConfig {
  // The TCP address for HTTP requests (/metrics, /healthz, /readyz, /routes), or nullopt.
  std::optional<Address> listen;
  std::string socket;  // the path of the unix socket for hatctl, or empty
  // The bounds of the buckets of hatrpc_request_duration_seconds.
  DurationBuckets duration_buckets = all_duration_buckets();
  // The key `max_functions`: how many functions have series of their own, on each side.
  uint32_t functions_max = 2000;
  SourceLocation location;
};

// The key `access_log`: the file to which the daemon appends lines about calls of local clients.
struct AccessLogConfig {
  std::string path;  // empty: there is no file
  // One of this many calls, chosen at random, has a line; 0: no call is chosen.
  uint32_t sample_one_in = 100;
  // Each call that took longer has a line; nullopt: the time of a call does not matter.
  std::optional<std::chrono::nanoseconds> slower_than{};
  bool failed = true;  // each call that hatrpcd itself has ended has a line
  SourceLocation location{};
};

struct TracingConfig {
  // The file to which the daemon appends the spans of calls; empty: calls get no spans.
  std::string path;
  SourceLocation location{};
};

// All limits of the daemon. Keys, units, defaults and ranges: config/limit_keys.h.
struct Limits {
  uint64_t message_bytes_max;   // `max_message`: largest request
  uint64_t buffered_bytes_max;  // `max_buffered`: bytes held for slow readers, per worker
  // `retry_request`: the largest request that is kept to send it again; 0B: none
  uint64_t retry_request_bytes_max;
  // `shared_request`: the largest request that uses one of the shared connections to a server. A
  // larger request gets its own connection.
  uint64_t shared_request_bytes_max;
  // `shared_reply`: the most bytes of a reply on a shared connection that are held while its caller
  // reads slowly. If there are more, the call fails.
  uint64_t shared_reply_bytes_max;
  // `checked_request`: the largest request of a peer that an `allow` rule restricts. A larger one
  // is refused.
  uint64_t checked_request_bytes_max;
  uint32_t connections_max;           // `max_connections`: clients, per endpoint and worker
  uint32_t calls_per_connection_max;  // `max_pipelined`: unanswered calls of one connection
  uint32_t links_max;                 // `max_links`: links that peers open to one worker
  // `max_peer_connections`: the most client connections whose calls one worker gets from peers.
  uint32_t peer_streams_max;
  // `retry_percent`: calls sent again for each 100 calls of a worker, plus 10 for each second; 0:
  // none at all
  uint32_t retry_percent;
  std::chrono::nanoseconds connect_timeout;  // for a connection to a peer and the peer's hello
  std::chrono::nanoseconds upstream_connect_timeout;  // for a connection to a local server
  std::chrono::nanoseconds peer_wait;  // how long a call waits for a link that is being built
  // time without a client after which a worker other than the first ends a link; 0: never
  std::chrono::nanoseconds link_idle;
  std::chrono::nanoseconds keepalive_interval;  // silence on a link before a ping
  std::chrono::nanoseconds keepalive_timeout;   // silence after which the link is considered dead
  std::chrono::nanoseconds reconnect_backoff_max;
  std::chrono::nanoseconds call_timeout;   // for functions without timeout_ms; 0: no limit
  std::chrono::nanoseconds tcp_keepalive;  // silence of a local connection before a probe; 0: never
  std::chrono::nanoseconds drain_timeout;  // longest time from SIGTERM to exit
  // How long an RDMA lane that had failed must be up again before it carries calls.
  std::chrono::nanoseconds lane_settle;
  std::chrono::nanoseconds spin;  // adaptive polling: time to poll before sleeping

  friend bool operator==(const Limits&, const Limits&) = default;
};
Limits default_limits();

inline constexpr uint32_t kPeerWeightMax = 1000;

// The key `worker_cores`: the cores on which workers run. config/worker_placement.h applies it.
struct WorkerCores {
  enum class Kind : uint8_t {
    kAuto,    // every core on which the process may run
    kNic,     // those of them that are on the NUMA node of the RDMA device
    kListed,  // `cores`
  };
  Kind kind = Kind::kAuto;
  Cores cores;
  SourceLocation location;
};

inline constexpr uint32_t kWorkersMax = 64;

struct NodeConfig {
  // The node's name. If the file has "$VARIABLE", this is the value of that environment variable.
  std::string node;
  // The zone of the node, such as a rack or a data centre, or empty. If the file has "$VARIABLE",
  // this is the value of that environment variable.
  std::string zone;
  FabricConfig fabric;
  // 0 (`auto`): one for each core that `worker_cores` lists, at most kWorkersMax; without a list, a
  // quarter of the cores, at least 1, at most 8.
  uint32_t workers = 0;
  WorkerCores worker_cores;
  // The nice value of worker threads, see nice(2); nullopt: the nice value of the process.
  std::optional<int> worker_nice;
  // The manifests. Paths in the file are relative to the directory of the file.
  std::vector<ConfigPath> manifests;
  // Files with more peers, in the form of the key `peers`: load_node_config() adds them to `peers`.
  std::vector<ConfigPath> peer_files;
  // The file of measured costs (config/profile.h) for plans of calls to peers without a profile of
  // their own, and of calls that this node serves; empty if there is none. The path in the
  // configuration file is relative to the directory of that file.
  std::string profile;
  SourceLocation profile_location;
  // The file in which the daemon keeps what it has learned (config/learned_choices.h), or empty.
  // The path in the configuration file is relative to the directory of that file.
  std::string learned;
  SourceLocation learned_location;
  LinkConfig link;
  // The peers. A node can be its own peer, so that its clients can call its own servers.
  std::vector<PeerConfig> peers;
  std::vector<EndpointConfig> endpoints;
  std::vector<ServedConfig> serves;
  AdminConfig admin;
  AccessLogConfig access_log;
  TracingConfig tracing;
  Limits limits = default_limits();
};

// Returns the most bytes of memory that a link with RDMA lanes registers: the value of
// `max_pinned`, rounded down to nine times a power of two.
uint64_t registered_bytes(const FabricConfig& fabric);

// Reads a node configuration from `text`, the contents of `file`. Relative paths in the text start
// at the directory of `file`. Adds every error to `diagnostics`, for example an undefined peer. Use
// the result only if no error was added.
NodeConfig read_node_config(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics);

// Reads the configuration of an application that has a worker of its own (client/rdma): only the
// keys node, zone, fabric, link, limits and profile. Without the key `node`, the node's name is
// empty.
NodeConfig read_application_config(const std::string& text, const std::string& file,
                                   Diagnostics& diagnostics);

// Reads a node configuration as read_node_config() does, from the file `file` and from its
// `peer_files`. It is an error if a file cannot be read.
NodeConfig load_node_config(const std::string& file, Diagnostics& diagnostics);

// Checks whether the node configuration and the manifests agree. Adds a warning if no manifest
// defines a service of the node, if a manifest restricts callers (`allow`) but link.tls is absent,
// or if a function that is `idempotent` has a server with `mode: mirror`. Adds an error if `mode:
// shared` lacks the service's list of functions, or if `allow` lacks a signature or the server's
// Thrift transport.
void check_against(const NodeConfig& node, const Manifest& manifest, Diagnostics& diagnostics);

}  // namespace hat
