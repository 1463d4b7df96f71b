// SPDX-License-Identifier: Apache-2.0
// daemon/routing/routing_table.h: an immutable table that maps a service and a function to the
// function's route: its plans (protocol, polling and sizes), its rules and its metrics. A reload
// replaces the whole table.
//
// Thread   The main thread builds a table; every worker reads it.
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
  std::string method;   // the function's name; "_other" for all functions that no manifest names
  bool listed = false;  // a manifest names the function
  bool oneway = false;  // the manifest says that the function has no reply; false if not listed
  engine::Plan client;
  engine::Plan server;
  LaneKeys lanes;
  std::string origin;
  FunctionMetrics* metrics = nullptr;
  // The peers that may call: the rule of the function or else of its service; nullopt: all peers.
  std::optional<AccessRule> access;
  std::optional<FieldSpecs> arguments;      // nullopt: the manifest does not give the arguments
  std::shared_ptr<const NamedTypes> types;  // the types that arguments of the service use
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
  // Builds the table from the manifest. `unlisted_services` are services that the node's
  // configuration names and no manifest names; these get default plans. `call_timeout` applies to
  // functions without the hint timeout_ms; 0 means no limit.
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
  // Returns the `allow` rules for the server at `upstream`, which must be an address in `serves`.
  const UpstreamRules& rules_at(const Address& upstream) const;
  // Returns true if at least one enforced `allow` rule of this node excludes a peer that has proved
  // these names.
  bool restricts(std::span<const std::string> names) const;

 private:
  uint64_t generation_;
  std::vector<std::unique_ptr<ServiceRoutes>> services_;
  std::unordered_map<std::string_view, const ServiceRoutes*> by_name_;
  std::vector<std::pair<Address, UpstreamRules>> rules_;
};

}  // namespace hat
