// SPDX-License-Identifier: Apache-2.0
// daemon/admin/control.h: what the admin API asks of the running daemon: its state, and changes to
// it.
//
// Thread   the main thread, all of it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "config/profile.h"
#include "daemon/metrics/counters.h"
#include "daemon/metrics/function_metrics.h"
#include "daemon/proxy/outbound/peer_lanes.h"
#include "daemon/routing/routing_table.h"

namespace hat {

// A worker's way to one peer.
struct LinkReport {
  size_t worker = 0;
  std::string peer;
  std::string address;
  bool up = false;
  std::string last_error;  // why it is down; empty while up
  uint64_t sessions = 0;   // built so far
  std::vector<LaneStatus> lanes;
  std::vector<std::string> peer_names;  // what the peer's certificate proves; empty: nothing
};

struct ReloadReport {
  uint64_t generation = 0;           // of the routes that hold now
  std::vector<std::string> changes;  // route_changes()
  std::vector<std::string> warnings;
};

struct LastReload {
  bool successful = true;
  double unix_time = 0;  // of the last success, the start included
  std::string error;     // of the last attempt, if it was refused
  uint64_t succeeded = 0;
  uint64_t refused = 0;
};

// The last calibration that this node was told to make.
struct CalibrationReport {
  enum class State : uint8_t { kNone, kRunning, kDone, kFailed };
  uint64_t number = 0;  // 1, 2, 3 … since the start
  State state = State::kNone;
  std::string peer;
  std::string error;               // kFailed
  std::optional<Profile> profile;  // kDone
};

// What a certificate of this node's says, or a list of revoked ones, for hatctl and metrics.
struct CertificateReport {
  // "certificate": this node's own; "ca": peers' certificates are its; "crl": a list of revoked
  // ones
  std::string use;
  std::string file;     // where it was read
  std::string subject;  // of a list: whose certificates it revokes
  std::string issuer;
  std::vector<std::string> names;  // DNS names and URIs
  int64_t not_before = 0;          // in seconds since 1970
  int64_t not_after = 0;
  std::string serial;       // hexadecimal; of a list: empty
  std::string fingerprint;  // SHA-256, hexadecimal
};

class Control {
 public:
  virtual ~Control() = default;

  virtual const NodeConfig& node() const = 0;
  virtual std::string config_file() const = 0;  // where the node's was read: an absolute path
  virtual std::shared_ptr<const RoutingTable> routes() const = 0;
  virtual MetricsRegistry& functions() = 0;
  virtual const std::vector<const WorkerCounters*>& workers() const = 0;
  virtual std::vector<LinkReport> links() const = 0;
  virtual std::string fabric() const = 0;  // what RDMA lanes are made of, or why there are none
  // What handshakes are made with now; empty: links have no TLS.
  virtual std::vector<CertificateReport> certificates() const = 0;
  virtual double start_unix_time() const = 0;
  virtual LastReload last_reload() const = 0;
  virtual bool draining() const = 0;
  // What keeps the daemon from being ready: "links to host-b", "draining"; empty: ready.
  virtual std::vector<std::string> pending() const = 0;
  // Every worker's loop has turned within the last seconds.
  virtual bool alive() = 0;

  // All or nothing. The error holds every mistake, a line each.
  virtual Result<ReloadReport> reload(bool dry_run) = 0;
  virtual void drain() = 0;
  // Begins to measure what the fabric costs to the peer; the calibration's number.
  virtual Result<uint64_t> calibrate(const std::string& peer) = 0;
  virtual CalibrationReport calibration() const = 0;
};

}  // namespace hat
