// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/counters.h: the counters of a worker. One worker writes a counter and the main
// thread reads it, without a lock: an update costs one load and one store.
//
// Each function has separate counters for each worker and side; metrics_page.cc sums them at each
// scrape.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "base/counter.h"
#include "base/histogram.h"
#include "base/reactor.h"
#include "config/duration_buckets.h"
#include "daemon/metrics/call_ways.h"
#include "daemon/metrics/fallback.h"
#include "daemon/metrics/tls_failure.h"
#include "daemon/metrics/usual_time.h"
#include "daemon/thrift/request_check.h"
#include "engine/failure.h"

namespace hat {

// How a call ended, as in the label `outcome`. The first three values equal those of
// thrift::Outcome.
enum class CallOutcome : uint8_t {
  kSuccess,
  kDeclaredException,
  kApplicationException,
  kLocalError,  // hatrpcd itself has ended the call, with a local reply if it could be written
  kOneway,
  kUnknown,  // the stream became opaque, or the client left, before the reply
};
inline constexpr std::array<const char*, 6> kCallOutcomeNames = {
    "success", "declared_exception", "app_exception", "local_error", "oneway", "unknown"};

inline constexpr size_t kLatencyBuckets = kDurationBounds + 1;  // the last one: longer times

inline constexpr uint64_t kSizeUnit = 64;   // bytes: the bound of the first bucket of sizes
inline constexpr size_t kSizeBuckets = 20;  // 64 B … 16 MiB, and larger

// Counts messages by their size in bytes. A message of 0 bytes does not count: the call ended
// before the message began.
class MessageSizes : public Histogram<Counter, kSizeBuckets, kSizeUnit> {
 public:
  void add(uint64_t bytes) {
    if (bytes != 0) Histogram::add(bytes);
  }
};

class FunctionMetrics;

// The counters of one function, on one side, in one worker.
struct FunctionCounters {
  const FunctionMetrics* function = nullptr;  // of which these are counters
  std::array<Counter, kCallOutcomeNames.size()> requests;
  Counter started;    // calls begun; minus the sum of `requests`: calls in flight
  Counter timed_out;  // on the client's side: sent calls whose time was over before the reply
  Counter retries;    // on the client's side: how often calls were sent again
  MessageSizes request_sizes;
  MessageSizes reply_sizes;
  LatencyHistogram<Counter, kLatencyBuckets> latency;
  // Counted on the client's side. When a call ends, and a part of its request was sent, the worker
  // counts the call by its carriers, and a fallback (a call over TCP that wanted RDMA) by its
  // reason.
  CallWays ways;
  std::array<Counter, kFallbackCount> fallbacks;
  // Counted on the server's side: calls that an `allow` rule denies. [0]: refused; [1]: served,
  // because the rule is a dry run.
  std::array<Counter, 2> denied;
  // Only for the worker: SlowCalls keeps no call of this function that took at most this time.
  Duration slow_floor{};
  // Only for the worker, on the client's side: the time of this function's calls at all peers.
  UsualTime usual;
};

// TLS handshakes of links that this node opened or accepted.
struct TlsCounters {
  Counter handshakes;  // successful handshakes
  std::array<Counter, kTlsFailureCount> failures;
};

// The RDMA lanes of all links.
struct RdmaCounters {
  Counter lanes_refused;     // lanes that peers wanted
  Counter registered_bytes;  // memory registered now, without applications' rings
  Counter zero_copy_bytes;   // bytes sent from an application's ring without a copy
  Counter landed_bytes;      // bytes READ directly into an application's ring
  Counter frames_not_kept;   // of requests: copies are wanted, and there was no space for one
};

// Connections to local servers.
struct UpstreamCounters {
  Counter open;
  Counter connects;
  Counter ejections;  // of addresses that connections began to avoid
  Counter detached;   // connections kept until another stream takes them
  Counter attached;   // detached connections that a stream has taken
};

// The results of calls of peers that asked for a polling mode.
enum class AskedPolling : uint8_t {
  kFollowed,    // the worker waits in this mode
  kNotAllowed,  // the hints of this node do not allow the mode
};
inline constexpr std::array<const char*, 2> kAskedPollingNames = {"followed", "not_allowed"};

// The events that are counted for each peer.
enum class PeerEvent : uint8_t {
  kSession,   // a session came up; reconnects count
  kIdleEnd,   // a link ended because no client needed it
  kEjection,  // calls began to prefer other peers, because calls at this one have failed
  kResume,    // a stream continued after the loss of its RDMA lane
};

// Counts events by peer. A reload can add peers, so this class has a lock. A worker takes it only
// when an event occurs.
class PeerEvents {
 public:
  using Counts = std::array<uint64_t, 4>;  // by PeerEvent

  // Counts the events of this peer from now on. Does nothing if they are counted.
  void add_peer(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    events_.try_emplace(peer);
  }
  // Forgets this peer, so that peers that come and go do not use more and more memory.
  void remove_peer(const std::string& peer) {
    const std::lock_guard lock(mutex_);
    events_.erase(peer);
  }
  // Counts an event of this peer. Does nothing if the peer was removed.
  void add(const std::string& peer, PeerEvent event) {
    const std::lock_guard lock(mutex_);
    const auto known = events_.find(peer);
    if (known != events_.end()) ++known->second[static_cast<size_t>(event)];
  }
  std::map<std::string, Counts> all() const {
    const std::lock_guard lock(mutex_);
    return events_;
  }
  // Returns the number of events of this peer; 0 if the peer is not known.
  uint64_t count(const std::string& peer, PeerEvent event) const {
    const std::lock_guard lock(mutex_);
    const auto known = events_.find(peer);
    return known == events_.end() ? 0 : known->second[static_cast<size_t>(event)];
  }

 private:
  mutable std::mutex mutex_;
  std::map<std::string, Counts> events_;
};

// The counters of one worker, for all functions.
struct WorkerCounters {
  std::array<Counter, engine::kFailureCount> local_replies;  // by engine::Failure
  Counter connections_accepted;
  Counter connections_open;
  Counter connections_refused;      // because of limits.max_connections, or while draining
  Counter links_refused;            // because of limits.max_links
  Counter retries_refused;          // because of limits.retry_percent
  Counter peer_streams_refused;     // because of limits.max_peer_connections
  Counter connections_taken_over;   // accepted by the predecessor, and moved to this process
  Counter connections_handed_over;  // accepted by this process, and moved to the successor
  Counter opaque_streams;           // streams carried byte for byte
  Counter idle_streams;             // to peers: those that now wait for a later call
  // Failures of opaque streams, by Side and by engine::Failure.
  std::array<std::array<Counter, engine::kFailureCount>, 2> opaque_failures;
  UpstreamCounters upstream;
  Counter checked_requests;  // requests of restricted peers that have passed the check
  // Requests of restricted peers that were rejected, by thrift::RequestFault.
  std::array<Counter, thrift::kRequestFaultNames.size()> refused_requests;
  // Calls of peers that asked for a polling mode, by AskedPolling.
  std::array<Counter, kAskedPollingNames.size()> asked_pollings;
  Counter oneway_dropped;       // oneway calls that were not delivered
  Counter unsolicited_replies;  // replies of local servers that belong to no call
  TlsCounters tls;
  RdmaCounters rdma;
  Counter buffered_bytes;  // bytes held in memory now, because their readers are slow
  Counter iterations;      // of the event loop; an increase shows that the worker is alive
  PeerEvents peer_events;
};

}  // namespace hat
