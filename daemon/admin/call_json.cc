// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/call_json.h"

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

// Returns null if the time is not known.
nlohmann::ordered_json microseconds(std::optional<Duration> time) {
  if (!time) return nullptr;
  return std::chrono::duration<double, std::micro>(*time).count();
}

}  // namespace

// An initializer list would copy each value twice, and this is most of the work for a log line.
void add_call(nlohmann::ordered_json& object, const CallRecord& call, size_t worker) {
  object["service"] = call.counters->function->service;
  object["method"] = call.counters->function->method;
  object["peer"] = call.peer;
  object["worker"] = worker;
  object["outcome"] = kCallOutcomeNames[static_cast<size_t>(call.outcome)];
  object["reason"] = nullptr;
  if (call.failure) object["reason"] = engine::text(*call.failure).token;
  object["request_protocol"] = name(call.way.request);
  object["reply_protocol"] = name(call.way.reply);
  object["request_bytes"] = call.request_bytes;
  object["reply_bytes"] = call.reply_bytes;
  object["took_us"] = microseconds(call.took);
  object["waited_us"] = microseconds(call.waited);
  std::optional<Duration> wire;
  std::optional<Duration> waited_there;
  std::optional<Duration> served;
  std::optional<Duration> reply;
  if (call.answered) reply = call.took - call.waited - *call.answered;
  if (call.answered && call.there) {
    // The peer may report anything.
    const Duration there = std::min(call.there->total, *call.answered);
    waited_there = std::min(call.there->waited, there);
    wire = *call.answered - there;
    served = there - *waited_there;
  }
  object["answered_us"] = microseconds(call.answered);
  object["wire_us"] = microseconds(wire);
  object["peer_us"] = microseconds(waited_there);
  object["server_us"] = microseconds(served);
  object["reply_us"] = microseconds(reply);
  object["trace_id"] = nullptr;
  if (call.trace_id) {
    object["trace_id"] = std::string_view(call.trace_id->data(), call.trace_id->size());
  }
}

}  // namespace hat
