// SPDX-License-Identifier: Apache-2.0
// daemon/admin/control.h: the interface through which the admin API reads and changes the running
// daemon.
//
// Thread   Only the main thread calls these functions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "config/numa_hints.h"
#include "config/profile.h"
#include "config/worker_placement.h"
#include "daemon/metrics/access_log.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/function_metrics.h"
#include "daemon/metrics/observations.h"
#include "daemon/metrics/slow_calls.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/proxy/worker_status.h"
#include "daemon/routing/learned_status.h"
#include "daemon/routing/routing_table.h"
#include "engine/link/link.h"

namespace hat {

// The link of one worker to one peer.
struct LinkReport {
  size_t worker = 0;
  std::string peer;
  std::string address;
  engine::LinkState state = engine::LinkState::kIdle;
  std::string last_error;  // why the link takes no calls; empty if it is up or idle
  uint64_t sessions = 0;   // number of sessions since the start
  std::vector<LaneStatus> lanes;
  std::vector<std::string> peer_names;  // the names in the peer's certificate; empty if none
  // The cores of the peer's host; nullopt while the link is down, or if the peer does not send
  // them.
  std::optional<engine::CoreCounts> cores;
  uint32_t legs = 0;     // the legs that both daemons can perform; 0 if there can be no RDMA lanes
  bool is_slow = false;  // clients of the worker prefer other peers, because this one is slow
};

// A worker's link to a peer, and how the worker's calls use this peer.
struct PeerReport {
  size_t worker = 0;
  PeerStatus status;
};

// The process or host at the other end of a client's connection.
struct ClientProcess {
  uint32_t pid = 0;     // 0: not known, as over TCP
  std::string address;  // of a TCP connection, as tcp:HOST:PORT; otherwise empty
};

// Holds the answers of the workers to one question. A worker whose event loop does not respond in
// time gives none.
template <class Report>
struct WorkersReport {
  size_t silent = 0;    // workers that did not answer
  size_t left_out = 0;  // reports that are not in `shown`
  std::vector<Report> shown;
};

// A peer that calls of one worker avoid, or at which they failed.
struct AvoidedReport {
  size_t worker = 0;
  AvoidedPeer avoided;
};

struct ConnectionReport {
  size_t worker = 0;
  ConnectionStatus status;
  ClientProcess client;
};

struct ConnectionsReport {
  size_t silent = 0;   // workers that did not answer, whose connections are not in this report
  size_t open = 0;     // connections of local clients
  Duration longest{};  // the longest processor time that a worker used for its part of the report
  std::vector<ConnectionReport> shown;  // of each worker the first ones
};

struct WayReport {
  size_t worker = 0;
  WayToPeer way;
};

// The choice that one worker has learned for the calls of one function to one peer.
struct LearnedReport {
  size_t worker = 0;
  LearnedStatus status;
};

// One of the slowest calls of one worker's clients.
struct SlowCallReport {
  size_t worker = 0;
  double began_unix_time = 0;  // in s since 1970
  CallRecord call;
};

// Calls of one worker's clients that wait for their replies.
struct UnansweredReport {
  size_t worker = 0;
  UnansweredCalls waiting;
};

// The spans of calls since the start; none if the node has no key `tracing`.
struct SpanCounts {
  uint64_t written = 0;  // to the file of the key `tracing`
  uint64_t lost = 0;     // there was no space in memory, or the file could not be written
};

struct ReloadReport {
  uint64_t generation = 0;           // generation of the routes in use
  std::vector<std::string> changes;  // from route_changes() in daemon/routing/route_changes.h
  std::vector<std::string> warnings;
};

// A name in the configuration and its addresses.
struct NameReport {
  std::string name;                    // "dns:HOST:PORT" or "srv:NAME"
  std::vector<std::string> addresses;  // of the last good answer
  std::string error;                   // of the last lookup; empty if it succeeded
  uint64_t answers = 0;                // lookups that succeeded
  uint64_t failures = 0;               // lookups that failed
};

struct LastReload {
  bool successful = true;
  double unix_time = 0;  // time of the last success (at first: of the start), in s since 1970
  std::string error;     // error of the last reload; empty if it succeeded
  uint64_t succeeded = 0;
  uint64_t refused = 0;
};

// The last calibration that an operator requested from this node.
struct CalibrationReport {
  enum class State : uint8_t { kNone, kRunning, kDone, kFailed };
  uint64_t number = 0;  // counts the calibrations since the start, from 1
  State state = State::kNone;
  std::string peer;
  std::string error;               // set if kFailed
  std::optional<Profile> profile;  // set if kDone
};

// The contents of one of this node's certificates or lists of revoked certificates, for hatctl and
// metrics.
struct CertificateReport {
  // "certificate": this node's own certificate; "ca": a CA that signs peers' certificates; "crl": a
  // list of revoked certificates
  std::string use;
  std::string file;     // path of the certificate's or list's file
  std::string subject;  // for a "crl": same as `issuer`
  std::string issuer;
  std::vector<std::string> names;  // DNS names and URIs
  int64_t not_before = 0;          // in seconds since 1970
  int64_t not_after = 0;
  std::string serial;       // hexadecimal; empty for a "crl"
  std::string fingerprint;  // SHA-256, hexadecimal
};

class Control {
 public:
  virtual ~Control() = default;

  virtual const NodeConfig& node() const = 0;
  virtual std::string config_file() const = 0;  // absolute path of the node's configuration file
  // Returns the absolute paths of the files of manifests that the next reload would read.
  virtual std::vector<std::string> manifest_files() const = 0;
  virtual std::shared_ptr<const RoutingTable> routes() const = 0;
  virtual MetricsRegistry& functions() = 0;
  // Returns how the functions were called in the last minutes.
  virtual const Observations& observations() const = 0;
  virtual const std::vector<const WorkerCounters*>& workers() const = 0;
  virtual std::vector<LinkReport> links() const = 0;
  // Returns the first `most` peers of each worker.
  virtual WorkersReport<PeerReport> peers(size_t most) const = 0;
  // Returns the peers at which calls failed, or that are slow, of each worker at most `most`
  // reports.
  virtual WorkersReport<AvoidedReport> avoided_peers(size_t most) const = 0;
  // Returns the connections of local clients that come first in `order`, at most `most` of each
  // worker.
  virtual ConnectionsReport connections(ConnectionOrder order, size_t most) const = 0;
  // Returns how a call of this function that began now would reach each peer, of each worker at
  // most `most` reports.
  virtual WorkersReport<WayReport> ways_of(const std::string& service, const std::string& method,
                                           size_t most) const = 0;
  virtual std::vector<LearnedReport> learned() const = 0;
  // Returns the slowest calls of the last minutes, in no order.
  virtual std::vector<SlowCallReport> slowest_calls() const = 0;
  // Returns the calls that wait for their replies; of each worker at most `most` reports, those
  // with the oldest calls.
  virtual WorkersReport<UnansweredReport> unanswered_calls(size_t most) const = 0;
  virtual AccessLogCounts access_log() const = 0;
  virtual SpanCounts spans() const = 0;
  virtual std::string fabric() const = 0;  // describes the RDMA fabric, or says why there is none
  virtual std::string fabric_kind() const = 0;  // "verbs", "loop" or "none"
  // Returns the fabric of the first worker as reports of calls name it: "verbs:DEVICE", "loop" or
  // "none".
  virtual std::string fabric_label() const = 0;
  // Returns the cores and the NUMA node of each worker.
  virtual std::vector<WorkerPlacement> placements() const = 0;
  virtual const NumaHints& numa_hints() const = 0;
  // Returns the certificates and lists that new TLS handshakes use; empty if links do not use TLS.
  virtual std::vector<CertificateReport> certificates() const = 0;
  virtual double start_unix_time() const = 0;
  virtual LastReload last_reload() const = 0;
  virtual std::vector<NameReport> looked_up() const = 0;
  virtual bool draining() const = 0;
  // Returns the reasons why the daemon is not ready, such as "link to host-b" or "draining"; empty
  // if it is ready.
  virtual std::vector<std::string> pending() const = 0;
  // Returns true if the event loop of each worker responds within 2 s.
  virtual bool alive() = 0;

  // Reads and applies the configuration files, all of them or, after an error, none. The error has
  // one line for each diagnostic. With `dry_run`, applies nothing.
  virtual Result<ReloadReport> reload(bool dry_run) = 0;
  virtual void drain() = 0;
  // Starts a calibration session with `peer`; returns the calibration's number.
  virtual Result<uint64_t> calibrate(const std::string& peer) = 0;
  virtual CalibrationReport calibration() const = 0;
};

}  // namespace hat
