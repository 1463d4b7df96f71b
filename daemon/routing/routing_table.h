// SPDX-License-Identifier: Apache-2.0
// daemon/routing/routing_table.h: an immutable table of routes. A route has a function's plans,
// access rule and metrics. A reload replaces the whole table.
//
// A function has one plan for calls to all peers. If costs were measured with a certain peer
// (`peers.NAME.profile`), the function can have another plan for calls to this peer.
//
// Thread   The main thread builds a table; the main thread and every worker read it.
#pragma once

#include <chrono>
#include <functional>
#include <map>
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
#include "daemon/routing/learned_plan.h"
#include "engine/plan/idle_hints.h"
#include "engine/plan/planner.h"

namespace hat {

// How a client's daemon on this host carries the calls of a function.
struct CallPlan {
  engine::Plan plan;
  WantedLanes lanes;
  // The choices to learn among, if `plan.learned`; otherwise null.
  std::shared_ptr<const LearnedPlan> learned;

  // Returns true if both carry calls in the same way. The reasons of the plans do not count.
  bool carries_as(const CallPlan& other) const;
};

struct Route {
  std::string service;
  std::string method;   // the function's name; "_other" for all functions that no manifest names
  bool listed = false;  // true if a manifest names the function
  bool oneway = false;  // true if the manifest says that the function has no reply
  HintGroups hints;
  HintGroups service_hints;
  CallPlan client;
  // By the name of a peer with a profile of its own: the plan for calls to it, if this carries them
  // in another way than `client`.
  std::map<std::string, CallPlan, std::less<>> client_to;
  engine::Plan server;                   // for a server's daemon on this host
  std::vector<Polling> served_pollings;  // pollings_to_ask_for()
  // Its place in RoutingTable::by_peer(), from 1; 0: the calls to all peers have the same plan.
  uint32_t by_peer_number = 0;
  std::string origin;
  FunctionMetrics* metrics = nullptr;
  // The peers that may call: the function's rule, or else its service's; nullopt if all peers may.
  std::optional<AccessRule> access;
  std::optional<FieldSpecs> arguments;      // nullopt if the manifest does not give the arguments
  std::shared_ptr<const NamedTypes> types;  // the types to which the arguments refer
  bool allow_unknown_fields = false;

  // Returns the plan for calls to `peer`.
  const CallPlan& to(std::string_view peer) const {
    const auto found = client_to.find(peer);
    return found == client_to.end() ? client : found->second;
  }
};

class ServiceRoutes {
 public:
  ServiceRoutes(std::string name, Route other, std::vector<Route> functions);

  // Returns the function's own route, or other() if the manifest does not name the function.
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
  // Builds the table from `manifest`. `unlisted_services` are the services that only the node's
  // configuration names; they get default plans. `call_timeout` applies to functions without the
  // hint timeout_ms; 0 means no limit. Neither a manifest nor the configuration needs to name the
  // `retired_services`, which connections from before a reload can still use.
  RoutingTable(uint64_t generation, const Manifest& manifest,
               const std::vector<std::string>& unlisted_services, const engine::HostFacts& host,
               MetricsRegistry& metrics, const std::vector<ServedConfig>& serves = {},
               std::chrono::nanoseconds call_timeout = {},
               const std::vector<std::string>& retired_services = {});

  // Returns the routes of a service; nullptr if neither a manifest nor the configuration names it.
  const ServiceRoutes* find(std::string_view service) const {
    const auto found = by_name_.find(service);
    return found == by_name_.end() ? nullptr : found->second;
  }
  // Returns the routes of a service as find() does, or of a retired service.
  const ServiceRoutes* find_retired_too(std::string_view service) const {
    if (const ServiceRoutes* routes = find(service)) return routes;
    const auto found = retired_.find(service);
    return found == retired_.end() ? nullptr : found->second.get();
  }
  const std::vector<std::unique_ptr<ServiceRoutes>>& services() const { return services_; }
  // Returns the routes whose plan depends on the peer: those with `plan: learned`, and those that
  // some peer's profile gives another plan. The route with by_peer_number n is at n - 1.
  const std::vector<const Route*>& by_peer() const { return by_peer_; }
  // Returns true if some function has `plan: learned`.
  bool learns() const;
  uint64_t generation() const { return generation_; }
  // Returns the facts about this host from which the plans follow.
  const engine::HostFacts& host() const { return host_; }
  // Returns the cores of this host.
  engine::CoreCounts cores() const { return host_.core_counts(); }
  // Returns hints of one side of the function that change nothing in how calls to any peer are
  // carried, on this host and in the replies of `servers`, each of which is given once
  // (engine::idle_hints()).
  std::vector<engine::IdleHint> idle_hints(const Route& route, Side side,
                                           std::span<const engine::CoreCounts> servers) const;
  // Returns the `allow` rules for the server at `upstream`, which must be an upstream in `serves`.
  const UpstreamRules& rules_at(const Address& upstream) const;
  // Returns true if an enforced `allow` rule of this node keeps a peer with the identity `names`
  // from at least one function.
  bool restricts(std::span<const std::string> names) const;

 private:
  void note_by_peer(const Route& route);

  uint64_t generation_;
  engine::HostFacts host_;
  std::vector<std::unique_ptr<ServiceRoutes>> services_;
  std::unordered_map<std::string_view, const ServiceRoutes*> by_name_;
  std::map<std::string, std::unique_ptr<ServiceRoutes>, std::less<>> retired_;
  std::vector<const Route*> by_peer_;
  std::vector<std::pair<Address, UpstreamRules>> rules_;
};

}  // namespace hat
