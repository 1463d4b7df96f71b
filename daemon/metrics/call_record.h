// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/call_record.h: a call of a local client that has ended, with the parts of its
// time, for `hatctl slow`, the access log and spans.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/reactor.h"
#include "daemon/metrics/call_ways.h"
#include "daemon/metrics/counters.h"
#include "daemon/thrift/trace_context.h"
#include "engine/failure.h"
#include "engine/served_times.h"

namespace hat {

struct CallRecord {
  FunctionCounters* counters = nullptr;
  TimePoint began{};
  Duration took{};    // until the last byte of the reply, or until the call failed
  Duration waited{};  // until a part of the request was sent to the peer, or the call failed
  std::optional<Duration> answered;  // from then to the first byte of the reply, if there was
  std::optional<engine::ServedTimes> there;  // the part of `answered` at the server's host
  CallOutcome outcome{};
  std::optional<engine::Failure> failure;  // if hatrpcd itself has answered
  std::string peer;                        // empty: the call was not sent
  uint64_t request_bytes = 0;
  uint64_t reply_bytes = 0;
  CallWay way;
  std::optional<thrift::TraceId> trace_id;  // if the client has sent a trace context
};

}  // namespace hat
