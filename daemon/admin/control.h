// SPDX-License-Identifier: Apache-2.0
// daemon/admin/control.h: the interface through which the admin API reads and changes the running
// daemon.
//
// Thread   The main thread, for all calls.
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

// The link of one worker to one peer.
struct LinkReport {
  size_t worker = 0;
  std::string peer;
  std::string address;
  bool up = false;
  std::string last_error;  // why it is down; empty while up
  uint64_t sessions = 0;   // sessions built so far
  std::vector<LaneStatus> lanes;
  std::vector<std::string> peer_names;  // names that the peer's certificate proves; empty: none
};

struct ReloadReport {
  uint64_t generation = 0;           // of the routes that are in use now
  std::vector<std::string> changes;  // route_changes()
  std::vector<std::string> warnings;
};

struct LastReload {
  bool successful = true;
  double unix_time = 0;  // of the last success; the start counts as one
  std::string error;     // of the last attempt; empty if it succeeded
  uint64_t succeeded = 0;
  uint64_t refused = 0;
};

// The last calibration that this node was asked to make.
struct CalibrationReport {
  enum class State : uint8_t { kNone, kRunning, kDone, kFailed };
  uint64_t number = 0;  // 1, 2, 3 … since the start
  State state = State::kNone;
  std::string peer;
  std::string error;               // set if kFailed
  std::optional<Profile> profile;  // set if kDone
};

// The contents of one of this node's certificates or revocation lists, for hatctl and metrics.
struct CertificateReport {
  // "certificate": this node's own; "ca": a CA that signs peers' certificates; "crl": a list of
  // revoked certificates
  std::string use;
  std::string file;     // the file that holds it
  std::string subject;  // for a "crl": the issuer of the certificates that it revokes
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
  virtual std::shared_ptr<const RoutingTable> routes() const = 0;
  virtual MetricsRegistry& functions() = 0;
  virtual const std::vector<const WorkerCounters*>& workers() const = 0;
  virtual std::vector<LinkReport> links() const = 0;
  virtual std::string fabric() const = 0;  // describes the RDMA fabric, or says why there is none
  virtual std::string fabric_kind() const = 0;  // "verbs", "loop" or "none"
  // Returns the certificates that new handshakes use; empty if links have no TLS.
  virtual std::vector<CertificateReport> certificates() const = 0;
  virtual double start_unix_time() const = 0;
  virtual LastReload last_reload() const = 0;
  virtual bool draining() const = 0;
  // Returns the reasons why the daemon is not ready, such as "link to host-b" or "draining"; empty
  // if it is ready.
  virtual std::vector<std::string> pending() const = 0;
  // Asks each worker; returns false if a worker's event loop does not respond within 2 s.
  virtual bool alive() = 0;

  // Applies all of the configuration or none of it. The error has one line for each diagnostic.
  virtual Result<ReloadReport> reload(bool dry_run) = 0;
  virtual void drain() = 0;
  // Begins to measure what the fabric costs to the peer; returns the calibration's number.
  virtual Result<uint64_t> calibrate(const std::string& peer) = 0;
  virtual CalibrationReport calibration() const = 0;
};

}  // namespace hat
