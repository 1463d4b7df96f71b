// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/slow_json.h"

#include <algorithm>
#include <vector>

#include "daemon/metrics/function_metrics.h"

namespace hat {

using nlohmann::json;

namespace {

double microseconds(Duration time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

json call_json(const SlowCallReport& report) {
  const SlowCall& call = report.call;
  json answer = {
      {"unix_time", report.began_unix_time},
      {"service", call.counters->function->service},
      {"method", call.counters->function->method},
      {"peer", call.peer},
      {"worker", report.worker},
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
  };
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

}  // namespace

json slow_json(const Control& control) {
  std::vector<SlowCallReport> calls = control.slowest_calls();
  std::ranges::sort(calls, [](const SlowCallReport& one, const SlowCallReport& other) {
    return one.call.took > other.call.took;
  });
  if (calls.size() > kSlowCallsMax) calls.resize(kSlowCallsMax);
  json slow = json::array();
  for (const SlowCallReport& call : calls) slow.push_back(call_json(call));
  return {{"slow", std::move(slow)}};
}

}  // namespace hat
