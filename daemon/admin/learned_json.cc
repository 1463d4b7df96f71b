// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/learned_json.h"

namespace hat {

using nlohmann::json;

namespace {

json status_json(const LearnedStatus& learned, size_t worker) {
  json costs = json::array();
  for (const auto& cost : learned.costs) {
    costs.push_back({{"choice", cost.choice}, {"ns", cost.ns}});
  }
  return {{"worker", worker},
          {"peer", learned.peer},
          {"choice", learned.choice},
          {"kept", learned.is_kept},
          {"searching", learned.searching},
          {"trials", learned.trials},
          {"changes", learned.changes},
          {"noise", learned.noise},
          {"measures", learned.measures},
          {"costs", std::move(costs)}};
}

}  // namespace

json learned_json(const Route& route, std::span<const LearnedReport> learned) {
  json all = json::array();
  for (const auto& [worker, status] : learned) {
    if (status.service != route.service || status.method != route.method) continue;
    all.push_back(status_json(status, worker));
  }
  return all;
}

}  // namespace hat
