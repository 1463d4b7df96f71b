// SPDX-License-Identifier: Apache-2.0
// daemon/routing/routing_table.h: an immutable table from service and function to plan; a reload
// replaces the whole table.
//
// Thread   The main thread builds it; every worker reads it.
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
  std::string method;  // "_other": functions that no manifest names
  bool listed = false;
  bool oneway = false;  // true only if listed
  engine::Plan client;
  engine::Plan server;
  LaneKeys lanes;
  std::string origin;
  FunctionMetrics* metrics = nullptr;
  std::optional<AccessRule> access;         // the function's, or its service's; none: all may call
  std::optional<FieldSpecs> arguments;      // none: the manifest does not give them
  std::shared_ptr<const NamedTypes> types;  // that the service's arguments use
  bool allow_unknown_fields = false;
};

class ServiceRoutes {
 public:
  ServiceRoutes(std::string name, Route other, std::vector<Route> functions);

  // Returns the function's own route, or the route for functions that the manifest does not name.
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
  // Builds the table. Services that the node's configuration names but no manifest does get default
  // plans. `call_timeout` applies to functions without timeout_ms; 0 means no limit.
  RoutingTable(uint64_t generation, const Manifest& manifest,
               const std::vector<std::string>& unlisted_services, const engine::HostFacts& host,
               MetricsRegistry& metrics, const std::vector<ServedConfig>& serves = {},
               std::chrono::nanoseconds call_timeout = {});

  // Returns nullptr if neither a manifest nor the configuration names the service.
  const ServiceRoutes* find(std::string_view service) const {
    const auto found = by_name_.find(service);
    return found == by_name_.end() ? nullptr : found->second;
  }
  const std::vector<std::unique_ptr<ServiceRoutes>>& services() const { return services_; }
  uint64_t generation() const { return generation_; }
  // Returns the `allow` rules at one of the addresses of `serves`.
  const UpstreamRules& rules_at(const Address& upstream) const;
  // Returns true if an enforced rule of this node keeps a peer that proved these names from at
  // least one function.
  bool restricts(std::span<const std::string> names) const;

 private:
  uint64_t generation_;
  std::vector<std::unique_ptr<ServiceRoutes>> services_;
  std::unordered_map<std::string_view, const ServiceRoutes*> by_name_;
  std::vector<std::pair<Address, UpstreamRules>> rules_;
};

}  // namespace hat
