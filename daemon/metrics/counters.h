// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/counters.h: what the path of a call counts: plain numbers that one worker writes
// and the scraper reads, so that counting costs a load and a store.
//
// Each function has its counters per worker and side; exposition.h sums them when scraped.
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

// Written by one thread, read by any.
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

// Time from 1 µs in powers of two: bucket i counts what took at most 2^i µs; the last one the rest.
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

// How a call ended, as the label `outcome`. The first three are thrift::Outcome's.
enum class CallOutcome : uint8_t {
  kSuccess,
  kDeclaredException,
  kApplicationException,
  kLocalError,  // answered by hatrpcd itself
  kOneway,
  kUnknown,  // the stream became opaque, or the caller left, before the reply
};
inline constexpr std::array<const char*, 6> kCallOutcomeNames = {
    "success", "declared_exception", "app_exception", "local_error", "oneway", "unknown"};

// One function, one side, one worker.
struct FunctionCounters {
  std::array<Counter, kCallOutcomeNames.size()> requests;
  Counter started;  // in flight: started less the sum of requests
  Counter request_bytes;
  Counter response_bytes;
  LatencyHistogram latency;
  // The client's side: what calls went by, and why it was TCP where RDMA was wanted.
  std::array<Counter, engine::kProtocols.size()> by_protocol;
  Counter by_tcp;
  std::array<Counter, kFallbackCount> fallbacks;
  // The server's side: calls of who may not, by AccessRule::dry_run: refused, and served.
  std::array<Counter, 2> denied;
};

// Of links' TLS handshakes, on both sides.
struct TlsCounters {
  Counter handshakes;  // that were good
  std::array<Counter, kTlsFailureCount> failures;
};

// One worker, all functions.
struct WorkerCounters {
  std::array<Counter, engine::kFailureCount> local_replies;  // by engine::Failure
  Counter connections_accepted;
  Counter connections_open;
  Counter connections_refused;      // over limits.max_connections
  Counter links_refused;            // over limits.max_links
  Counter peer_streams_refused;     // over limits.max_peer_connections
  Counter connections_taken_over;   // accepted by another hatrpcd, which this one took over from
  Counter connections_handed_over;  // and the other way
  Counter opaque_streams;           // carried byte for byte
  // Of those, the ones that failed: by Side, and by why.
  std::array<std::array<Counter, engine::kFailureCount>, 2> opaque_failures;
  Counter upstreams_detached;  // kept for another stream
  Counter upstreams_attached;  // another stream had them before
  Counter lent_bytes;          // sent from an application's ring without a copy here
  Counter upstream_connections_open;
  Counter upstream_connects;
  Counter checked_requests;  // of peers that `allow` restricts: those that were passed on
  // And those that were not, by thrift::RequestFault.
  std::array<Counter, thrift::kRequestFaultNames.size()> refused_requests;
  Counter oneway_dropped;       // oneway calls that could not be delivered
  Counter unsolicited_replies;  // upstream replies that no call asked for
  TlsCounters tls;
  Counter buffered_bytes;  // held for slow readers now
  Counter turns;           // of the event loop: the worker is alive
  // By peer: links built, so reconnects too. The worker's making adds the peers, nothing later.
  std::map<std::string, Counter> peer_sessions;
};

}  // namespace hat
