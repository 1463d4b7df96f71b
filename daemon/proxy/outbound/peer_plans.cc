// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_plans.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hat {

void PeerPlans::set_table(std::shared_ptr<const RoutingTable> table, TrialLanes& lanes) {
  std::vector<LearnedWay> before;
  for (const Function& function : functions_) {
    if (function.learned != nullptr) before.push_back(function.learned->current_way());
  }
  table_ = std::move(table);
  functions_.clear();
  for (const Route* route : table_->by_peer()) {
    const CallPlan& plan = route->to(measured_as_);
    const FunctionCounters& counters = route->metrics->at(Side::kClient, worker_);
    const auto known = all_.find(&counters);
    LearnedRoute* learned = known == all_.end() || !plan.learned ? nullptr : known->second.get();
    if (learned != nullptr) learned->set_plan(plan.learned);
    functions_.push_back({route, &plan, &counters, learned});
  }
  for (const LearnedWay& way : before) lanes.release(way);  // unless it is wanted
}

PeerPlans::Function* PeerPlans::find(uint32_t number, const FunctionCounters& counters) {
  if (number > functions_.size()) return nullptr;
  Function& function = functions_[number - 1];
  return function.counters == &counters ? &function : nullptr;
}

LearnedRoute* PeerPlans::learn(Function& function) {
  if (function.learned == nullptr && function.plan->learned) {
    auto made = std::make_unique<LearnedRoute>(function.plan->learned,
                                               seed_ + function.route->by_peer_number,
                                               kept_choice(*function.route));
    function.learned = made.get();
    all_.emplace(function.counters, std::move(made));
  }
  return function.learned;
}

std::string_view PeerPlans::kept_choice(const Route& route) const {
  if (kept_ == nullptr) return "";
  const auto found = kept_->find({peer_, route.service, route.method});
  return found == kept_->end() ? "" : std::string_view(found->second);
}

bool PeerPlans::is_wanted(const LaneKey& key, const engine::CoreCounts& server) const {
  const auto wants = [&](const Route& route) {
    const WantedLanes* lanes = &route.client.lanes;
    if (route.by_peer_number != 0) {
      const Function& function = functions_[route.by_peer_number - 1];
      lanes = function.learned != nullptr ? &function.learned->current_way().lanes
                                          : &function.plan->lanes;
    }
    return lanes->small.at(server) == key || lanes->large.at(server) == key;
  };
  return std::ranges::any_of(table_->services(), [&](const auto& service) {
    return wants(service->other()) || std::ranges::any_of(service->functions(), wants);
  });
}

void PeerPlans::on_lane_failed(const LaneKey& key, const engine::CoreCounts& server, TimePoint now,
                               TrialLanes& lanes) {
  for (const Function& function : functions_) {
    if (function.learned != nullptr) function.learned->on_lane_failed(key, server, now, lanes);
  }
}

std::vector<LearnedStatus> PeerPlans::status() const {
  std::vector<LearnedStatus> all;
  for (const Function& function : functions_) {
    if (function.learned == nullptr) continue;
    LearnedStatus& status = all.emplace_back(function.learned->status());
    status.peer = peer_;
    status.service = function.route->service;
    status.method = function.route->method;
  }
  return all;
}

}  // namespace hat
