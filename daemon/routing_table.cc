#include "daemon/routing_table.h"

#include <utility>

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
  };
  route.lanes = lane_keys(route.client, route.server);
  return route;
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
}

}  // namespace hat
