// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/explain_json.h"

#include <algorithm>
#include <array>

#include "config/hint_values.h"
#include "daemon/admin/peers_json.h"

namespace hat {

using nlohmann::json;

namespace {

// Adds the hints of a function or a service.
void add_hints(const HintGroups& groups, const char* of, json& all) {
  const auto add = [&](const Hints& hints, const char* group) {
    for (const auto& [key, value] : hint_words(hints)) {
      all.push_back({{"of", of}, {"group", group}, {"key", key}, {"value", value}});
    }
  };
  add(groups.both, "hint");
  add(groups.client, "c_hint");
  add(groups.server, "s_hint");
}

json hints_json(const Route& route) {
  json all = json::array();
  add_hints(route.hints, "function", all);
  add_hints(route.service_hints, "service", all);
  return all;
}

json deadline_json(const Route& route) {
  const auto& timeout = route.client.plan.timeout;
  if (!timeout) return {{"ms", nullptr}, {"from", ""}};
  const bool has_hint =
      effective(route.hints, route.service_hints, Side::kClient).timeout.has_value();
  return {{"ms", timeout->count()}, {"from", has_hint ? "timeout_ms" : "limits.call_timeout"}};
}

json carrier_json(const std::optional<CarrierNow>& carrier) {
  if (!carrier) return nullptr;
  return {{"protocols", carrier->protocols},
          {"why", carrier->protocols.empty() ? name(carrier->why) : ""},
          {"last_error", carrier->last_error},
          {"opens", carrier->is_first_call}};
}

json ways_json(const std::vector<WayReport>& ways) {
  json all = json::array();
  for (const auto& [worker, way] : ways) {
    all.push_back({{"worker", worker},
                   {"endpoint", way.endpoint},
                   {"peer", way.peer},
                   {"state", name(way.state)},
                   {"last_error", way.last_error},
                   {"candidate", way.candidacy != Candidacy::kNo},
                   {"overflow", way.candidacy == Candidacy::kOverflow},
                   {"avoided", way.is_avoided},
                   {"ejection", way.ejection ? ejection_json(*way.ejection) : json(nullptr)},
                   {"is_near", way.is_near},
                   {"slow", way.is_slow},
                   {"weight", way.weight},
                   {"unanswered", way.unanswered},
                   {"learned", way.learns},
                   {"small", carrier_json(way.small)},
                   {"large", carrier_json(way.large)}});
  }
  return all;
}

// Returns the addresses of the endpoints whose service this is.
json endpoints_json(const std::string& service, const NodeConfig& node) {
  json all = json::array();
  for (const EndpointConfig& endpoint : node.endpoints) {
    if (endpoint.service == service) all.push_back(to_string(endpoint.listen));
  }
  return all;
}

bool has_several_peers(const NodeConfig& node) {
  return std::ranges::any_of(node.endpoints,
                             [](const EndpointConfig& one) { return one.peers.size() > 1; });
}

json serves_json(const std::string& service, const NodeConfig& node) {
  const auto served = std::ranges::find(node.serves, service, &ServedConfig::service);
  if (served == node.serves.end()) return nullptr;
  return {{"upstream", upstream_text(*served)},
          {"mode", served->mode == UpstreamMode::kMirror ? "mirror" : "shared"}};
}

json recent_json(const Route& route, const Observations& observations) {
  const auto of = [&](Side side) -> json {
    const EndedCalls ended = observations.of(*route.metrics, side).ended;
    return {{"calls", ended.calls}, {"timed_out", ended.timed_out}};
  };
  return {{"window_s", std::chrono::duration<double>(observations.window()).count()},
          {"client", of(Side::kClient)},
          {"server", of(Side::kServer)}};
}

json slow_share_json(const Route& route, const std::vector<SlowCallReport>& calls) {
  size_t of_function = 0;
  Duration slowest{};
  for (const auto& report : calls) {
    if (report.call.counters->function != route.metrics) continue;
    ++of_function;
    slowest = std::max(slowest, report.call.took);
  }
  const double us = std::chrono::duration<double, std::micro>(slowest).count();
  return {{"kept", calls.size()}, {"of_function", of_function}, {"slowest_us", us}};
}

}  // namespace

std::optional<json> explain_json(Control& control, const std::string& service,
                                 const std::string& function) {
  const auto routes = control.routes();
  const ServiceRoutes* const found = routes->find(service);
  if (found == nullptr) return std::nullopt;
  const Route& route = found->find(function);
  if (route.method != function) return std::nullopt;
  constexpr std::array kPriorities = {"low", "normal", "high"};
  const engine::Plan& plan = route.client.plan;
  const Limits& limits = control.node().limits;
  const auto ways = control.ways_of(service, function, reports_of_worker(control));
  return json{{"service", service},
              {"function", function},
              {"hints", hints_json(route)},
              {"deadline", deadline_json(route)},
              {"priority", kPriorities[static_cast<size_t>(plan.priority)]},
              {"idempotent", plan.idempotent},
              {"retry_percent", limits.retry_percent},
              {"retry_request_bytes", limits.retry_request_bytes_max},
              {"several_peers", has_several_peers(control.node())},
              {"endpoints", endpoints_json(service, control.node())},
              {"workers", control.workers().size()},
              {"workers_silent", ways.silent},
              {"left_out", ways.left_out},
              {"ways", ways_json(ways.shown)},
              {"serves", serves_json(service, control.node())},
              {"recent", recent_json(route, control.observations())},
              {"slow", slow_share_json(route, control.slowest_calls())}};
}

}  // namespace hat
