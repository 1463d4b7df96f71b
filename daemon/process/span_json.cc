// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/span_json.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

using nlohmann::json;

// OTLP writes 64-bit integers as strings.
json attribute(std::string_view key, uint64_t value) {
  return {{"key", key}, {"value", {{"intValue", std::to_string(value)}}}};
}
json attribute(std::string_view key, std::string_view value) {
  return {{"key", key}, {"value", {{"stringValue", value}}}};
}
json attribute(std::string_view key, Duration value) {
  const double microseconds = std::chrono::duration<double, std::micro>(value).count();
  return {{"key", key}, {"value", {{"doubleValue", microseconds}}}};
}

template <size_t kDigits>
std::string_view text_of(const std::array<char, kDigits>& id) {
  return {id.data(), id.size()};
}

// Adds the parts of the call's time that are known; compare slow_json().
void add_times(json& attributes, SpanKind kind, const CallRecord& call) {
  attributes.push_back(attribute("hatrpc.waited_us", call.waited));
  if (!call.answered) return;
  if (kind == SpanKind::kServer) {
    attributes.push_back(attribute("hatrpc.server_us", *call.answered));
  } else if (call.there) {
    // The peer may report anything.
    const Duration there = std::min(call.there->total, *call.answered);
    const Duration waited = std::min(call.there->waited, there);
    attributes.push_back(attribute("hatrpc.wire_us", *call.answered - there));
    attributes.push_back(attribute("hatrpc.peer_us", waited));
    attributes.push_back(attribute("hatrpc.server_us", there - waited));
  }
  attributes.push_back(attribute("hatrpc.reply_us", call.took - call.waited - *call.answered));
}

// Returns the value of the attribute `error.type`, or an empty text if the call has not failed.
std::string_view error_type(const CallRecord& call) {
  if (call.failure) return engine::text(*call.failure).token;
  const bool has_failed = call.outcome == CallOutcome::kApplicationException ||
                          call.outcome == CallOutcome::kLocalError ||
                          call.outcome == CallOutcome::kUnknown;
  return has_failed ? kCallOutcomeNames[static_cast<size_t>(call.outcome)] : "";
}

json attributes_of(const Span& span, const std::string& method) {
  const CallRecord& call = span.call;
  json attributes = {
      attribute("rpc.system.name", "apache_thrift"),
      attribute("rpc.method", method),
      attribute("hatrpc.outcome", kCallOutcomeNames[static_cast<size_t>(call.outcome)]),
      attribute("hatrpc.request_bytes", call.request_bytes),
      attribute("hatrpc.reply_bytes", call.reply_bytes),
  };
  if (!call.peer.empty()) attributes.push_back(attribute("hatrpc.peer", call.peer));
  if (span.kind == SpanKind::kClient) {
    if (!call.peer.empty()) attributes.push_back(attribute("server.address", call.peer));
    attributes.push_back(attribute("hatrpc.request_protocol", name(call.way.request)));
    attributes.push_back(attribute("hatrpc.reply_protocol", name(call.way.reply)));
  }
  add_times(attributes, span.kind, call);
  if (const auto error = error_type(call); !error.empty()) {
    attributes.push_back(attribute("error.type", error));
  }
  return attributes;
}

json status_of(const CallRecord& call) {
  constexpr int kStatusError = 2;
  if (error_type(call).empty()) return json::object();
  json status = {{"code", kStatusError}};
  if (call.failure) status["message"] = engine::text(*call.failure).meaning;
  return status;
}

}  // namespace

void SpanJson::append(std::string& text, const Span& span, TimePoint unix_epoch) const {
  const CallRecord& call = span.call;
  const CallTrace& trace = span.trace;
  const FunctionMetrics& function = *call.counters->function;
  const std::string method = function.service + "/" + function.method;
  const TimePoint ended = call.began + call.took;
  const json line = {
      {"resourceSpans",
       json::array(
           {{{"resource",
              {{"attributes", json::array({attribute("service.name", "hatrpcd"),
                                           attribute("service.version", HAT_VERSION),
                                           attribute("service.instance.id", node_)})}}},
             {"scopeSpans",
              json::array(
                  {{{"scope", {{"name", "hatrpcd"}, {"version", HAT_VERSION}}},
                    {"spans",
                     json::array(
                         {{{"traceId", text_of(trace.context.trace_id)},
                           {"spanId", text_of(trace.span_id)},
                           {"parentSpanId", text_of(trace.context.parent_id)},
                           {"name", method},
                           {"kind", static_cast<int>(span.kind)},
                           {"startTimeUnixNano", std::to_string((call.began - unix_epoch).count())},
                           {"endTimeUnixNano", std::to_string((ended - unix_epoch).count())},
                           {"attributes", attributes_of(span, method)},
                           {"status", status_of(call)}}})}}})}}})}};
  text += line.dump(-1, ' ', false, json::error_handler_t::replace);
  text += '\n';
}

}  // namespace hat
