// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing_table.h"

#include <algorithm>
#include <utility>

#include "config/identity.h"

namespace hat {
namespace {

Route make_route(const ServiceSpec& service, const FunctionSpec& function, bool listed,
                 const engine::HostFacts& host, MetricsRegistry& metrics) {
  Route route{
      .service = service.name,
      .method = function.name,
      .listed = listed,
      .oneway = function.oneway,
      .client = make_plan(effective(function.hints, service.hints, Side::kClient), host),
      .server = make_plan(effective(function.hints, service.hints, Side::kServer), host),
      .origin = function.origin,
      .metrics = &metrics.find(service.name, function.name),
      .access = function.access ? function.access : service.access,
  };
  route.lanes = lane_keys(route.client, route.server);
  return route;
}

bool holds(const Route& route) { return route.access && !route.access->dry_run; }

// Of some route of some service: `is(route)`.
template <class Is>
bool any_route(const std::vector<std::unique_ptr<ServiceRoutes>>& services, const Is& is) {
  return std::ranges::any_of(services, [&is](const auto& service) {
    return is(service->other()) || std::ranges::any_of(service->functions(), is);
  });
}

}  // namespace

ServiceRoutes::ServiceRoutes(std::string name, Route other, std::vector<Route> functions)
    : name_(std::move(name)), other_(std::move(other)), functions_(std::move(functions)) {
  for (const Route& route : functions_) by_name_.emplace(route.method, &route);
}

RoutingTable::RoutingTable(uint64_t generation, const Manifest& manifest,
                           const std::vector<std::string>& unlisted_services,
                           const engine::HostFacts& host, MetricsRegistry& metrics)
    : generation_(generation) {
  const auto add = [&](const ServiceSpec& service) {
    std::vector<Route> functions;
    functions.reserve(service.functions.size());
    for (const FunctionSpec& function : service.functions) {
      functions.push_back(make_route(service, function, true, host, metrics));
    }
    Route other = make_route(service, FunctionSpec{.name = "_other"}, false, host, metrics);
    services_.push_back(
        std::make_unique<ServiceRoutes>(service.name, std::move(other), std::move(functions)));
    by_name_.emplace(services_.back()->name(), services_.back().get());
  };
  for (const ServiceSpec& service : manifest.services) add(service);
  for (const std::string& name : unlisted_services) {
    if (!by_name_.contains(name)) add(ServiceSpec{.name = name});
  }
  guarded_ = any_route(services_, holds);
}

bool RoutingTable::may_call_all(std::span<const std::string> names) const {
  return !any_route(services_, [names](const Route& route) {
    return holds(route) && !any_identity_matches(route.access->allow, names);
  });
}

}  // namespace hat
