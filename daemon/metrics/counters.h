// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/counters.h: what a worker counts for each call: plain numbers that one worker
// writes and the scraper reads, so that counting costs a load and a store.
//
// Each function has counters for each worker and side; exposition.h sums them at each scrape.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <map>
#include <string>

#include "base/reactor.h"
#include "daemon/metrics/fallback.h"
#include "daemon/metrics/tls_failure.h"
#include "daemon/thrift/request_check.h"
#include "engine/failure.h"
#include "engine/protocols.h"

namespace hat {

// One thread writes it; any thread reads it.
class Counter {
 public:
  void add(uint64_t n = 1) {
    value_.store(value_.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void sub(uint64_t n = 1) { add(~n + 1); }
  uint64_t value() const { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> value_{0};
};

// A histogram of times whose buckets double in width. Bucket i counts the times of at most 2^i µs
// that no earlier bucket counts. The last bucket counts all longer times.
class LatencyHistogram {
 public:
  static constexpr size_t kBuckets = 25;  // 1 µs … 8.4 s, and +Inf

  static constexpr size_t bucket(Duration took) {
    const auto ns = static_cast<uint64_t>(took.count() < 0 ? 0 : took.count());
    const uint64_t us = (ns + 999) / 1000;
    const size_t index = us <= 1 ? 0 : static_cast<size_t>(std::bit_width(us - 1));
    return index < kBuckets ? index : kBuckets - 1;
  }
  void observe(Duration took) {
    buckets_[bucket(took)].add();
    sum_ns_.add(static_cast<uint64_t>(took.count() < 0 ? 0 : took.count()));
  }
  uint64_t count_in(size_t index) const { return buckets_[index].value(); }
  uint64_t sum_ns() const { return sum_ns_.value(); }

 private:
  std::array<Counter, kBuckets> buckets_;
  Counter sum_ns_;
};

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

// The counters of one function, on one side, at one worker.
struct FunctionCounters {
  std::array<Counter, kCallOutcomeNames.size()> requests;
  Counter started;  // calls in flight: started minus the sum of requests
  Counter request_bytes;
  Counter response_bytes;
  LatencyHistogram latency;
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
