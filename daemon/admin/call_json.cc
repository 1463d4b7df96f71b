// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/call_json.h"

#include <algorithm>
#include <string_view>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

double microseconds(Duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace

nlohmann::ordered_json call_json(const CallRecord& call, size_t worker) {
  nlohmann::ordered_json answer = {
      {"service", call.counters->function->service},
      {"method", call.counters->function->method},
      {"peer", call.peer},
      {"worker", worker},
      {"outcome", kCallOutcomeNames[static_cast<size_t>(call.outcome)]},
      {"reason", nullptr},
      {"request_protocol", name(call.way.request)},
      {"reply_protocol", name(call.way.reply)},
      {"request_bytes", call.request_bytes},
      {"reply_bytes", call.reply_bytes},
      {"took_us", microseconds(call.took)},
      {"waited_us", microseconds(call.waited)},
      {"answered_us", nullptr},
      {"wire_us", nullptr},
      {"peer_us", nullptr},
      {"server_us", nullptr},
      {"reply_us", nullptr},
      {"trace_id", nullptr},
  };
  if (call.trace_id) {
    answer["trace_id"] = std::string_view(call.trace_id->data(), call.trace_id->size());
  }
  if (call.failure) answer["reason"] = engine::text(*call.failure).token;
  if (!call.answered) return answer;
  answer["answered_us"] = microseconds(*call.answered);
  answer["reply_us"] = microseconds(call.took - call.waited - *call.answered);
  if (!call.there) return answer;
  // The peer may report anything.
  const Duration there = std::min(call.there->total, *call.answered);
  const Duration waited = std::min(call.there->waited, there);
  answer["wire_us"] = microseconds(*call.answered - there);
  answer["peer_us"] = microseconds(waited);
  answer["server_us"] = microseconds(there - waited);
  return answer;
}

}  // namespace hat
