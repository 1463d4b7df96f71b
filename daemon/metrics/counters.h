// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/counters.h: what a worker counts for each call: plain numbers that one worker
// writes and the scraper reads, so that counting costs a load and a store.
//
// Each function has counters for each worker and side; exposition.h sums them at each scrape.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>

#include "base/counter.h"
#include "base/histogram.h"
#include "daemon/metrics/fallback.h"
#include "daemon/metrics/tls_failure.h"
#include "daemon/thrift/request_check.h"
#include "engine/failure.h"
#include "engine/protocols.h"

namespace hat {

// How a call ended: the label `outcome`. The first three are those of thrift::Outcome.
enum class CallOutcome : uint8_t {
  kSuccess,
  kDeclaredException,
  kApplicationException,
  kLocalError,  // hatrpcd itself answered
  kOneway,
  kUnknown,  // the stream became opaque, or the caller left, before the reply
};
inline constexpr std::array<const char*, 6> kCallOutcomeNames = {
    "success", "declared_exception", "app_exception", "local_error", "oneway", "unknown"};

inline constexpr size_t kLatencyBuckets = 25;  // 1 µs … 8.4 s, and +Inf

// The counters of one function, on one side, at one worker.
struct FunctionCounters {
  std::array<Counter, kCallOutcomeNames.size()> requests;
  Counter started;  // calls in flight: started minus the sum of requests
  Counter request_bytes;
  Counter response_bytes;
  LatencyHistogram<Counter, kLatencyBuckets> latency;
  // On the client's side: calls by what carried them, and calls over TCP although RDMA was wanted,
  // by reason.
  std::array<Counter, engine::kProtocols.size()> by_protocol;
  Counter by_tcp;
  std::array<Counter, kFallbackCount> fallbacks;
  // On the server's side: calls that `allow` denies, by AccessRule::dry_run: [0] refused, [1]
  // served.
  std::array<Counter, 2> denied;
};

// TLS handshakes of links, on both sides.
struct TlsCounters {
  Counter handshakes;  // successful ones
  std::array<Counter, kTlsFailureCount> failures;
};

// The counters of one worker, for all functions.
struct WorkerCounters {
  std::array<Counter, engine::kFailureCount> local_replies;  // by engine::Failure
  Counter connections_accepted;
  Counter connections_open;
  Counter connections_refused;      // over limits.max_connections, or draining
  Counter links_refused;            // over limits.max_links
  Counter peer_streams_refused;     // over limits.max_peer_connections
  Counter connections_taken_over;   // accepted by the predecessor, and moved here
  Counter connections_handed_over;  // accepted here, and moved to the successor
  Counter opaque_streams;           // carried byte for byte
  // Opaque streams that failed, by Side and by engine::Failure.
  std::array<std::array<Counter, engine::kFailureCount>, 2> opaque_failures;
  Counter upstreams_detached;  // kept for another stream
  Counter upstreams_attached;  // taken by another stream
  Counter zero_copy_bytes;     // sent from an application's ring without a copy here
  Counter upstream_connections_open;
  Counter upstream_connects;
  Counter checked_requests;  // of peers that `allow` restricts: passed on
  // Requests of such peers that were not passed on, by thrift::RequestFault.
  std::array<Counter, thrift::kRequestFaultNames.size()> refused_requests;
  Counter oneway_dropped;       // oneway calls that could not be delivered
  Counter unsolicited_replies;  // upstream replies that no call asked for
  TlsCounters tls;
  Counter buffered_bytes;  // held now for slow readers
  Counter iterations;      // event-loop iterations: they show that the worker is alive
  // Links that came up, by peer, reconnects included. The Worker's constructor adds the peers; no
  // later code does.
  std::map<std::string, Counter> peer_sessions;
};

}  // namespace hat
