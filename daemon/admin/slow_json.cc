// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/slow_json.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "daemon/admin/call_json.h"

namespace hat {

using nlohmann::json;

namespace {

constexpr std::array kWaitsFor = {"to_be_sent", "rest_of_request", "reply", "rest_of_reply"};

json waiting_json(const UnansweredReport& report) {
  const UnansweredCalls& calls = report.waiting;
  return {{"service", calls.service},
          {"method", calls.method},
          {"peer", calls.peer},
          {"worker", report.worker},
          {"waits_for", kWaitsFor[static_cast<size_t>(calls.waits_for)]},
          {"may_be_oneway", calls.may_be_oneway},
          {"calls", calls.calls},
          {"oldest_us", std::chrono::duration<double, std::micro>(calls.oldest).count()}};
}

void add_waiting(const Control& control, json& answer) {
  auto report = control.unanswered_calls(kWaitingOfWorker);
  std::ranges::stable_sort(report.shown, std::ranges::greater(),
                           [](const UnansweredReport& one) { return one.waiting.oldest; });
  const size_t shown = std::min(report.shown.size(), kWaitingMax);
  json waiting = json::array();
  for (size_t i = 0; i < shown; ++i) waiting.push_back(waiting_json(report.shown[i]));
  answer["waiting"] = std::move(waiting);
  answer["waiting_left_out"] = report.left_out + report.shown.size() - shown;
  answer["workers"] = control.workers().size();
  answer["workers_silent"] = report.silent;
}

}  // namespace

json slow_json(const Control& control) {
  std::vector<SlowCallReport> calls = control.slowest_calls();
  std::ranges::sort(calls, [](const SlowCallReport& one, const SlowCallReport& other) {
    return one.call.took > other.call.took;
  });
  if (calls.size() > kSlowCallsMax) calls.resize(kSlowCallsMax);
  json slow = json::array();
  for (const SlowCallReport& report : calls) {
    nlohmann::ordered_json call;
    add_call(call, report.call, report.worker);
    call["unix_time"] = report.began_unix_time;
    slow.emplace_back(std::move(call));
  }
  json answer = {{"slow", std::move(slow)}};
  add_waiting(control, answer);
  return answer;
}

}  // namespace hat
