// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/routing_table.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "config/identity.h"

namespace hat {
namespace {

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
      .client = make_plan(client, host),
      .server = make_plan(server, host),
      .origin = function.origin,
      .metrics = &metrics.find(service.name, function.name),
      .access = function.access ? function.access : service.access,
      .arguments = function.arguments,
      .types = types,
      .allow_unknown_fields = service.allow_unknown_fields,
  };
  route.lanes = wanted_lanes(route.client, server, host);
  if (route.client.learned) route.learned = learned_plan(route.client, client, server, host);
  if (!route.learned) {  // the hints leave no choice
    client.plan.reset();
    route.client = make_plan(client, host);
  }
  return route;
}

void set_timeout(Route& route, std::chrono::nanoseconds call_timeout) {
  const auto whole = std::chrono::ceil<std::chrono::milliseconds>(call_timeout);
  if (whole.count() == 0) return;
  for (engine::Plan* plan : {&route.client, &route.server}) {
    if (!plan->timeout) plan->timeout = whole;
  }
}

}  // namespace

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
                           std::chrono::nanoseconds call_timeout)
    : generation_(generation), host_(host) {
  uint32_t learned = 0;
  const auto finish = [&](Route& route) {
    set_timeout(route, call_timeout);
    if (route.learned) route.learned_number = ++learned;
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
    for (const Route& route : services_.back()->functions()) note_learned(route);
    note_learned(services_.back()->other());
    const bool is_new = by_name_.emplace(services_.back()->name(), services_.back().get()).second;
    CHECK(is_new) << service.name << " is listed twice";
  };
  for (const ServiceSpec& service : manifest.services) add(service);
  for (const std::string& name : unlisted_services) {
    if (!by_name_.contains(name)) add(ServiceSpec{.name = name});
  }
  for (const ServedConfig& served : serves) {
    if (std::ranges::find(rules_, served.upstream, &decltype(rules_)::value_type::first) ==
        rules_.end()) {
      rules_.emplace_back(served.upstream, hat::rules_at(served.upstream, serves, manifest));
    }
  }
}

void RoutingTable::note_learned(const Route& route) {
  if (!route.learned) return;
  learned_.push_back(&route);
  CHECK_EQ(route.learned_number, learned_.size());
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
