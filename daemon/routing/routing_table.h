// SPDX-License-Identifier: Apache-2.0
// daemon/routing/routing_table.h: service and function to plan, immutable; a reload swaps it whole.
//
// Thread   built on the main thread; read by every worker.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "config/manifest.h"
#include "config/upstream_rules.h"
#include "daemon/metrics/function_metrics.h"
#include "daemon/routing/lane_key.h"
#include "engine/plan/planner.h"

namespace hat {

struct Route {
  std::string service;
  std::string method;  // "_other": what no manifest names
  bool listed = false;
  bool oneway = false;  // true only where listed
  engine::Plan client;
  engine::Plan server;
  LaneKeys lanes;
  std::string origin;
  FunctionMetrics* metrics = nullptr;
  std::optional<AccessRule> access;     // the function's own, or its service's; none: all may call
  std::optional<FieldSpecs> arguments;  // none: the manifest does not say
  std::shared_ptr<const NamedTypes> types;  // what the service's arguments are made of
  bool allow_unknown_fields = false;
};

class ServiceRoutes {
 public:
  ServiceRoutes(std::string name, Route other, std::vector<Route> functions);

  // The function's own route, or the one for what the manifest does not name.
  const Route& find(std::string_view method) const {
    const auto found = by_name_.find(method);
    return found == by_name_.end() ? other_ : *found->second;
  }
  const std::string& name() const { return name_; }
  const std::vector<Route>& functions() const { return functions_; }
  const Route& other() const { return other_; }

 private:
  std::string name_;
  Route other_;
  std::vector<Route> functions_;
  std::unordered_map<std::string_view, const Route*> by_name_;
};

class RoutingTable {
 public:
  // Services that a node configuration names but no manifest does get default plans.
  // `call_timeout`: of functions without timeout_ms; 0: they have no limit.
  RoutingTable(uint64_t generation, const Manifest& manifest,
               const std::vector<std::string>& unlisted_services, const engine::HostFacts& host,
               MetricsRegistry& metrics, const std::vector<ServedConfig>& serves = {},
               std::chrono::nanoseconds call_timeout = {});

  // nullptr where neither manifest nor configuration names it.
  const ServiceRoutes* find(std::string_view service) const {
    const auto found = by_name_.find(service);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const std::vector<std::unique_ptr<ServiceRoutes>>& services() const { return services_; }
  uint64_t generation() const { return generation_; }
  // Who may call what at one of the addresses that `serves` has.
  const UpstreamRules& rules_at(const Address& upstream) const;
  // Whether an enforced rule of this node keeps a peer that proved these names from something.
  bool restricts(std::span<const std::string> names) const;

 private:
  uint64_t generation_;
  std::vector<std::unique_ptr<ServiceRoutes>> services_;
  std::unordered_map<std::string_view, const ServiceRoutes*> by_name_;
  std::vector<std::pair<Address, UpstreamRules>> rules_;
};

}  // namespace hat
