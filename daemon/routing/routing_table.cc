// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/routing_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "config/identity.h"

namespace hat {
namespace {

// Returns the plan of calls to a peer for which these facts hold.
CallPlan call_plan(Hints client, const Hints& server, const engine::HostFacts& facts) {
  CallPlan made{.plan = make_plan(client, facts)};
  made.lanes = wanted_lanes(made.plan, server, facts);
  if (made.plan.learned) made.learned = learned_plan(made.plan, client, server, facts);
  if (!made.learned) {  // the hints leave no choice
    client.plan.reset();
    made.plan = make_plan(client, facts);
  }
  return made;
}

Route make_route(const ServiceSpec& service, const FunctionSpec& function, bool listed,
                 const std::shared_ptr<const NamedTypes>& types, const engine::HostFacts& host,
                 MetricsRegistry& metrics) {
  Hints client = effective(function.hints, service.hints, Side::kClient);
  Hints server = effective(function.hints, service.hints, Side::kServer);
  server.plan.reset();  // only the client's side learns
  // Nothing can be measured of a call without a reply. Calls of unlisted functions may have none.
  if (function.oneway || !listed) client.plan.reset();
  Route route{
      .service = service.name,
      .method = function.name,
      .listed = listed,
      .oneway = function.oneway,
      .hints = function.hints,
      .service_hints = service.hints,
      .client = call_plan(client, server, host),
      .server = make_plan(server, host),
      .origin = function.origin,
      .metrics = &metrics.find(service.name, function.name),
      .access = function.access ? function.access : service.access,
      .arguments = function.arguments,
      .types = types,
      .allow_unknown_fields = service.allow_unknown_fields,
  };
  route.served_pollings = pollings_to_ask_for(route.client.learned.get(), server);
  if (!route.served_pollings.empty()) {
    route.server.reason += "; plan=learned: a client's daemon may ask for another polling mode";
  }
  for (const auto& [peer, measured] : host.measured_with) {
    CallPlan to_peer = call_plan(client, server, host.for_calls_to(peer));
    if (!to_peer.carries_as(route.client)) route.client_to.emplace(peer, std::move(to_peer));
  }
  return route;
}

bool depends_on_peer(const Route& route) {
  return route.client.learned != nullptr || !route.client_to.empty();
}

void set_timeout(Route& route, std::chrono::nanoseconds call_timeout) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(call_timeout);
  if (whole.count() == 0) return;
  const auto set = [whole](engine::Plan& plan) {
    if (!plan.timeout) plan.timeout = whole;
  };
  set(route.client.plan);
  set(route.server);
  for (auto& [peer, to_peer] : route.client_to) set(to_peer.plan);
}

}  // namespace

bool CallPlan::carries_as(const CallPlan& other) const {
  engine::Plan plan_of_other = other.plan;
  plan_of_other.reason = plan.reason;
  return plan == plan_of_other && lanes == other.lanes &&
         (learned != nullptr) == (other.learned != nullptr) &&
         (learned == nullptr || learned->has_choices_of(*other.learned));
}

ServiceRoutes::ServiceRoutes(std::string name, Route other, std::vector<Route> functions)
    : name_(std::move(name)), other_(std::move(other)), functions_(std::move(functions)) {
  for (const Route& route : functions_) {
    const bool is_new = by_name_.emplace(route.method, &route).second;
    CHECK(is_new) << name_ << "." << route.method << " is listed twice";
  }
}

RoutingTable::RoutingTable(uint64_t generation, const Manifest& manifest,
                           const std::vector<std::string>& unlisted_services,
                           const engine::HostFacts& host, MetricsRegistry& metrics,
                           const std::vector<ServedConfig>& serves,
                           std::chrono::nanoseconds call_timeout,
                           const std::vector<std::string>& retired_services)
    : generation_(generation), host_(host) {
  uint32_t by_peer = 0;
  const auto finish = [&](Route& route) {
    set_timeout(route, call_timeout);
    if (depends_on_peer(route)) route.by_peer_number = ++by_peer;
  };
  const auto add = [&](const ServiceSpec& service) {
    const auto types = std::make_shared<const NamedTypes>(service.types);
    std::vector<Route> functions;
    functions.reserve(service.functions.size());
    for (const FunctionSpec& function : service.functions) {
      functions.push_back(make_route(service, function, true, types, host, metrics));
    }
    Route other = make_route(service, FunctionSpec{.name = "_other"}, false, types, host, metrics);
    for (Route& route : functions) finish(route);
    finish(other);
    services_.push_back(
        std::make_unique<ServiceRoutes>(service.name, std::move(other), std::move(functions)));
    for (const Route& route : services_.back()->functions()) note_by_peer(route);
    note_by_peer(services_.back()->other());
    const bool is_new = by_name_.emplace(services_.back()->name(), services_.back().get()).second;
    CHECK(is_new) << service.name << " is listed twice";
  };
  for (const ServiceSpec& service : manifest.services) add(service);
  for (const std::string& name : unlisted_services) {
    if (!by_name_.contains(name)) add(ServiceSpec{.name = name});
  }
  for (const std::string& name : retired_services) {
    if (by_name_.contains(name)) continue;
    Route other = make_route(ServiceSpec{.name = name}, FunctionSpec{.name = "_other"}, false,
                             std::make_shared<const NamedTypes>(), host, metrics);
    set_timeout(other, call_timeout);
    retired_[name] = std::make_unique<ServiceRoutes>(name, std::move(other), std::vector<Route>());
  }
  for (const ServedConfig& served : serves) {
    if (std::ranges::find(rules_, served.upstream, &decltype(rules_)::value_type::first) ==
        rules_.end()) {
      rules_.emplace_back(served.upstream, hat::rules_at(served.upstream, serves, manifest));
    }
  }
}

void RoutingTable::note_by_peer(const Route& route) {
  if (!depends_on_peer(route)) return;
  by_peer_.push_back(&route);
  CHECK_EQ(route.by_peer_number, by_peer_.size());
}

bool RoutingTable::learns() const {
  return std::ranges::any_of(by_peer_,
                             [](const Route* route) { return route->client.learned != nullptr; });
}

std::vector<engine::IdleHint> RoutingTable::idle_hints(
    const Route& route, Side side, std::span<const engine::CoreCounts> servers) const {
  const auto idle_on = [&](const engine::HostFacts& facts) {
    return engine::idle_hints(route.hints, route.service_hints, side, facts, servers);
  };
  std::vector<engine::IdleHint> idle = idle_on(host_);
  for (const auto& [peer, measured] : host_.measured_with) {
    const std::vector<engine::IdleHint> there = idle_on(host_.for_calls_to(peer));
    std::erase_if(idle, [&](const engine::IdleHint& one) {
      return std::ranges::find(there, one.hint, &engine::IdleHint::hint) == there.end();
    });
  }
  return idle;
}

const UpstreamRules& RoutingTable::rules_at(const Address& upstream) const {
  const auto found = std::ranges::find(rules_, upstream, &decltype(rules_)::value_type::first);
  CHECK(found != rules_.end()) << to_string(upstream) << " is not among `serves`";
  return found->second;
}

bool RoutingTable::restricts(std::span<const std::string> names) const {
  return std::ranges::any_of(rules_, [names](const auto& at) {
    return !std::ranges::all_of(at.second.rules, [names](const AccessRule& rule) {
      return any_identity_matches(rule.allow, names);
    });
  });
}

}  // namespace hat
