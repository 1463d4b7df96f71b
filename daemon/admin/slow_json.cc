// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/slow_json.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "daemon/admin/call_json.h"

namespace hat {

using nlohmann::json;

json slow_json(const Control& control) {
  std::vector<SlowCallReport> calls = control.slowest_calls();
  std::ranges::sort(calls, [](const SlowCallReport& one, const SlowCallReport& other) {
    return one.call.took > other.call.took;
  });
  if (calls.size() > kSlowCallsMax) calls.resize(kSlowCallsMax);
  json slow = json::array();
  for (const SlowCallReport& report : calls) {
    json call = call_json(report.call, report.worker);
    call["unix_time"] = report.began_unix_time;
    slow.push_back(std::move(call));
  }
  return {{"slow", std::move(slow)}};
}

}  // namespace hat
