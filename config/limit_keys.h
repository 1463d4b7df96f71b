// SPDX-License-Identifier: Apache-2.0
// config/limit_keys.h: the table of all limits of the daemon: key, default, range and meaning.
#pragma once

#include <chrono>
#include <cstdint>

#include "config/node.h"

namespace hat {

// HAT_TIME_LIMITS contains literals such as 1s, so code that expands it must use the namespace
// std::chrono_literals.
//
//   member                   key                     default   from     to       what it bounds
#define HAT_SIZE_LIMITS(X)                                                                       \
  X(message_bytes_max, "max_message", 256ull << 20, 4ull << 10, 1ull << 30,                      \
    "the largest request; a larger one is answered with too_large")                              \
  X(buffered_bytes_max, "max_buffered", 256ull << 20, 1ull << 20, 1ull << 40,                    \
    "bytes held for slow readers, per worker, for one peer at most a quarter; new calls beyond " \
    "it are answered with overloaded")                                                           \
  X(retry_request_bytes_max, "retry_request", 16ull << 10, 0, 128ull << 10,                      \
    "the largest request that is kept until its reply begins, to send it again; 0B: none")       \
  X(shared_request_bytes_max, "shared_request", 1ull << 20, 1ull << 10, 1ull << 26,              \
    "mode: shared, the largest request that shares a connection; a larger one gets its own")     \
  X(shared_reply_bytes_max, "shared_reply", 16ull << 20, 1ull << 10, 1ull << 30,                 \
    "mode: shared, the most bytes held of a reply that its client reads slowly; with more, it "  \
    "fails")                                                                                     \
  X(checked_request_bytes_max, "checked_request", 16ull << 20, 1ull << 10, 1ull << 30,           \
    "the largest request of a peer that `allow` restricts; a larger one is refused")

#define HAT_COUNT_LIMITS(X)                                                                      \
  X(connections_max, "max_connections", 16384, 1, 1u << 20,                                      \
    "client connections of one endpoint, per worker; more are closed at once")                   \
  X(calls_per_connection_max, "max_pipelined", 1024, 1, 1u << 20,                                \
    "unanswered calls of one connection; reading it waits until some are answered")              \
  X(links_max, "max_links", 1024, 4, 1u << 16,                                                   \
    "links that peers have here, per worker, one peer at most a quarter; more are refused")      \
  X(retry_percent, "retry_percent", 20, 0, 100,                                                  \
    "calls sent again for each 100 calls of a worker, plus 10 for each second; 0: none at all")  \
  X(peer_streams_max, "max_peer_connections", 65536, 4, 1u << 24,                                \
    "clients' connections that peers carry here, per worker, one peer at most a quarter; calls " \
    "of "                                                                                        \
    "more are answered with overloaded")

#define HAT_TIME_LIMITS(X)                                                                         \
  X(connect_timeout, "connect_timeout", 1s, 10ms, 5min, "connecting to a peer")                    \
  X(upstream_connect_timeout, "upstream_connect_timeout", 10s, 10ms, 5min,                         \
    "connecting to an upstream; less than 1s leaves out the kernel's first retry")                 \
  X(peer_wait, "peer_wait", 1s, 0s, 5min, "a call's wait for a link that is being built")          \
  X(keepalive_interval, "keepalive_interval", 1s, 10ms, 5min, "silence on a link before a ping")   \
  X(keepalive_timeout, "keepalive_timeout", 3s, 20ms, 15min, "silence after which a link is dead") \
  X(link_idle, "link_idle", 5min, 0s, 24h,                                                         \
    "time without a client after which a worker other than the first ends a link; 0s: never")      \
  X(reconnect_backoff_max, "reconnect_backoff_max", 1s, 10ms, 5min,                                \
    "the longest pause between attempts to build a link")                                          \
  X(call_timeout, "call_timeout", 0s, 0s, 24h,                                                     \
    "the reply to a call of a function without timeout_ms; 0s: no limit")                          \
  X(tcp_keepalive, "tcp_keepalive", 1min, 0s, 2h,                                                  \
    "silence of a client's or server's TCP connection before the kernel probes it; 0s: never")     \
  X(drain_timeout, "drain_timeout", 30s, 0s, 60min,                                                \
    "from SIGTERM until the calls in flight are cut")                                              \
  X(lane_settle, "lane_settle", 1s, 0s, 5min,                                                      \
    "how long an RDMA lane that had failed must be up again before it carries calls")              \
  X(spin, "spin", 50us, 0s, 10ms, "adaptive polling: how long to poll before sleeping")

}  // namespace hat
