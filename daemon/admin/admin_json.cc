// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/admin_json.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>

#include "base/rounded.h"
#include "daemon/admin/learned_json.h"
#include "daemon/metrics/function_totals.h"

namespace hat {

using nlohmann::json;

namespace {

// Returns the number of calls by what carried them, and of fallbacks by reason. Only the client's
// side counts them; zeros are omitted. `fabric` is Control::fabric_label().
json carried_json(const FunctionTotals& totals, const std::string& fabric) {
  json carried = json::array();
  for (const auto& [way, count] : totals.ways) {
    carried.push_back({{"request_protocol", name(way.request)},
                       {"reply_protocol", name(way.reply)},
                       {"fabric", way.request == Carrier::kTcp ? "tcp" : fabric},
                       {"calls", count}});
  }
  json fallbacks = json::object();
  for (size_t i = 0; i < totals.fallbacks.size(); ++i) {
    if (totals.fallbacks[i] == 0) continue;
    fallbacks[kFallbackNames[i]] = totals.fallbacks[i];
  }
  return {{"carried", carried}, {"fallbacks", fallbacks}};
}

json costs_json(const ComponentCosts& costs) {
  const auto tenths = [](double ns) { return rounded(ns, 1); };
  const auto by_size = [&](const std::vector<SizedCost>& sized) {
    json all = json::array();
    for (const SizedCost& cost : sized) {
      all.push_back({{"bytes", cost.bytes}, {"ns", tenths(cost.ns)}});
    }
    return all;
  };
  json all = {{"fabric", costs.fabric},
              {"put", by_size(costs.put)},
              {"get", by_size(costs.get)},
              {"compare_swap_ns", tenths(costs.compare_swap_ns)},
              {"fetch_add_ns", tenths(costs.fetch_add_ns)},
              {"message", by_size(costs.message)},
              {"wake_up_ns", tenths(costs.wake_up_ns)},
              {"registration", by_size(costs.registration)},
              {"copy", by_size(costs.copy)},
              {"pushed_calls", by_size(costs.pushed_calls)},
              {"fetched_calls", by_size(costs.fetched_calls)}};
  if (!costs.no_calls.empty()) all["no_calls"] = costs.no_calls;
  return all;
}

json cores_json(const engine::CoreCounts& host) {
  return {{"cores", host.cores}, {"nic_cores", host.nic_cores}};
}

// A peer to which this node can have RDMA lanes, and whose cores are known.
struct Server {
  engine::CoreCounts cores;
  uint32_t legs = 0;  // LinkReport::legs
};
using Servers = std::map<std::string, Server>;  // by the peer's name

Servers known_peers(const Control& control) {
  Servers peers;
  for (const LinkReport& link : control.links()) {
    if (link.cores && link.legs != 0) peers[link.peer] = {*link.cores, link.legs};
  }
  return peers;
}

// Returns those of `peers` that serve the service to clients of this node.
Servers servers_of(const std::string& service, const NodeConfig& node, const Servers& peers) {
  Servers servers;
  for (const EndpointConfig& endpoint : node.endpoints) {
    if (endpoint.service != service) continue;
    for (const std::string& name : endpoint.peers) {
      if (const auto peer = peers.find(name); peer != peers.end()) servers.insert(*peer);
    }
  }
  return servers;
}

// The facts about this node and about the servers of one service, for the answer /routes.
struct RouteContext {
  const RoutingTable& table;
  const NumaHints& numa;
  std::string fabric;  // Control::fabric_label()
  Servers servers;
  std::vector<engine::CoreCounts> server_cores;  // of `servers`, each once
  const std::vector<LearnedReport>& learned;
};

RouteContext context_of(const std::string& service, const RoutingTable& table,
                        const Control& control, const Servers& peers,
                        const std::vector<LearnedReport>& learned) {
  RouteContext context{table,
                       control.numa_hints(),
                       control.fabric_label(),
                       servers_of(service, control.node(), peers),
                       {},
                       learned};
  for (const auto& [name, server] : context.servers) {
    if (std::ranges::find(context.server_cores, server.cores) == context.server_cores.end()) {
      context.server_cores.push_back(server.cores);
    }
  }
  return context;
}

std::string response_name(const LaneKey& key) {
  return std::string(engine::protocol(key.response).name);
}

// Returns the protocol that this node requests for the replies of each server.
json replies_json(const Route& route, const Servers& servers) {
  json all = json::array();
  if (route.client.plan.tcp_wanted) return all;
  for (const auto& [name, server] : servers) {
    const auto key = reachable(route.to(name).lanes.small.at(server.cores), server.legs);
    if (!key) continue;
    json one = cores_json(server.cores);
    one.update({{"peer", name}, {"protocol", response_name(*key)}});
    all.push_back(std::move(one));
  }
  return all;
}

json idle_json(const Route& route, Side side, const RouteContext& context) {
  json all = json::array();
  for (const auto& one : context.table.idle_hints(route, side, context.server_cores)) {
    all.push_back({{"hint", one.hint}, {"why", one.why}});
  }
  return all;
}

json route_json(const Route& route, const RouteContext& context) {
  const auto numa_json = [&](Side side) -> json {
    const NumaVerdict* verdict = context.numa.find(side, route.service, route.method);
    if (verdict == nullptr) return nullptr;
    return {{"hint", verdict->wanted},
            {"node", verdict->node ? json(*verdict->node) : json(nullptr)},
            {"not_honoured", verdict->why}};
  };
  const auto plan_json = [&](const engine::Plan& plan, Side side) {
    return json{{"plan", describe(plan)},
                {"reason", plan.reason},
                {"slot_bytes", plan.slot_bytes},
                {"small_bytes_max", plan.small_bytes_max},
                {"timeout_ms", plan.timeout ? json(plan.timeout->count()) : json(nullptr)},
                {"idempotent", plan.idempotent},
                {"change_nothing", idle_json(route, side, context)},
                {"numa", numa_json(side)}};
  };
  json to_peers = json::object();
  for (const auto& [peer, to_peer] : route.client_to) {
    json plan = plan_json(to_peer.plan, Side::kClient);
    for (const char* same : {"change_nothing", "numa"}) plan.erase(same);  // as in "client"
    plan["reply_protocol"] = response_name(to_peer.lanes.small.at(context.table.cores()));
    to_peers[peer] = std::move(plan);
  }
  json function = {
      {"method", route.method},
      {"oneway", route.oneway},
      {"origin", route.origin},
      {"client", plan_json(route.client.plan, Side::kClient)},
      {"client_to", std::move(to_peers)},
      {"server", plan_json(route.server, Side::kServer)},
      {"reply_protocol", response_name(route.client.lanes.small.at(context.table.cores()))},
      {"replies", replies_json(route, context.servers)},
      {"allow", route.access ? json(route.access->allow) : json(nullptr)},
      {"allow_mode", route.access && route.access->dry_run ? "dry_run" : "enforce"},
      {"learned", learned_json(route, context.learned)}};
  function.update(carried_json(total(*route.metrics, Side::kClient), context.fabric));
  return function;
}

// Returns the cores and the NUMA node of each worker.
json placements_json(const Control& control) {
  json all = json::array();
  for (const WorkerPlacement& placement : control.placements()) {
    all.push_back({{"cores", cores_text(placement.cores)},
                   {"numa_node", placement.node ? json(*placement.node) : json(nullptr)}});
  }
  return all;
}

json links_json(Control& control) {
  json links = json::array();
  for (const LinkReport& link : control.links()) {
    links.push_back({{"worker", link.worker},
                     {"peer", link.peer},
                     {"address", link.address},
                     {"up", link.state == engine::LinkState::kUp},
                     {"state", name(link.state)},
                     {"sessions", link.sessions},
                     {"last_error", link.last_error},
                     {"peer_names", link.peer_names},
                     {"peer_cores", link.cores ? cores_json(*link.cores) : json(nullptr)},
                     {"lanes", lanes_json(link.lanes)}});
  }
  return links;
}

// Returns the use, subject and validity period of each certificate: after the period's end, no link
// can be made with it. /status is also available over TCP and therefore shows no other facts.
json ends_json(const Control& control) {
  json all = json::array();
  for (const CertificateReport& report : control.certificates()) {
    all.push_back({{"use", report.use},
                   {"subject", report.subject},
                   {"not_before", report.not_before},
                   {"not_after", report.not_after}});
  }
  return all;
}

json names_json(const Control& control) {
  json all = json::array();
  for (const NameReport& report : control.looked_up()) {
    all.push_back(
        {{"name", report.name}, {"addresses", report.addresses}, {"error", report.error}});
  }
  return all;
}

json places_json(const NodeConfig& node) {
  json endpoints = json::array();
  for (const EndpointConfig& endpoint : node.endpoints) {
    endpoints.push_back({{"listen", to_string(endpoint.listen)},
                         {"ring", endpoint.ring ? json(endpoint.ring->path) : json(nullptr)},
                         {"service", endpoint.service},
                         {"peers", endpoint.peers}});
  }
  json serves = json::array();
  for (const ServedConfig& served : node.serves) {
    serves.push_back({{"service", served.service},
                      {"upstream", upstream_text(served)},
                      {"ring", served.ring ? json(served.ring->path) : json(nullptr)},
                      {"mode", served.mode == UpstreamMode::kMirror ? "mirror" : "shared"}});
  }
  return {{"endpoints", endpoints}, {"serves", serves}};
}

}  // namespace

json lanes_json(const std::vector<LaneStatus>& lanes) {
  json all = json::array();
  for (const LaneStatus& lane : lanes) {
    all.push_back({{"protocol", lane.protocol},
                   {"class", lane.latency ? "latency" : "throughput"},
                   {"state", lane.state},
                   {"failures", lane.failures},
                   {"last_error", lane.last_error}});
  }
  return all;
}

const char* link_security(const NodeConfig& node) {
  if (node.link.tls) return "tls";
  return node.link.listen || !node.peers.empty() ? "insecure" : "none";
}

json status_json(Control& control) {
  const auto& workers = control.workers();
  const LastReload last = control.last_reload();
  const double now =
      std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
  json local_replies;
  for (size_t i = 0; i < engine::kFailureCount; ++i) {
    const auto failure = static_cast<engine::Failure>(i);
    local_replies[std::string(engine::text(failure).token)] = total(workers, failure);
  }
  json status = {
      {"node", control.node().node},
      {"version", HAT_VERSION},
      {"pid", getpid()},
      {"start_unix_time", control.start_unix_time()},
      {"uptime_s", now - control.start_unix_time()},
      {"state", control.draining() ? "draining" : "running"},
      {"pending", control.pending()},
      {"generation", control.routes()->generation()},
      {"workers", workers.size()},
      {"worker_placement", placements_json(control)},
      {"fabric", control.fabric()},
      {"fabric_kind", control.fabric_kind()},
      {"link_security", link_security(control.node())},
      {"certificates", ends_json(control)},
      {"links", links_json(control)},
      {"names", names_json(control)},
      {"connections_open", total(workers, &WorkerCounters::connections_open)},
      {"upstream_connections_open", total(workers, &UpstreamCounters::open)},
      {"buffered_bytes", total(workers, &WorkerCounters::buffered_bytes)},
      {"local_replies", local_replies},
      {"last_reload",
       {{"successful", last.successful}, {"unix_time", last.unix_time}, {"error", last.error}}},
  };
  status.update(places_json(control.node()));
  return status;
}

json routes_json(Control& control) {
  const auto routes = control.routes();
  const Servers peers = known_peers(control);
  const std::vector<LearnedReport> learned = control.learned();
  json services = json::array();
  for (const auto& service : routes->services()) {
    const RouteContext context = context_of(service->name(), *routes, control, peers, learned);
    json functions = json::array();
    for (const Route& route : service->functions()) {
      functions.push_back(route_json(route, context));
    }
    functions.push_back(route_json(service->other(), context));
    services.push_back({{"service", service->name()}, {"functions", functions}});
  }
  return {{"generation", routes->generation()},
          {"fabric", control.fabric()},
          {"fabric_kind", control.fabric_kind()},
          {"host", cores_json(routes->cores())},
          {"services", services}};
}

json ping_json(const Control& control) {
  return {{"node", control.node().node},
          {"version", HAT_VERSION},
          {"config", control.config_file()},
          {"manifests", control.manifest_files()}};
}

json functions_json(Control& control, bool called_alone) {
  json all = json::array();
  for (FunctionMetrics& function : control.functions().all()) {
    for (const Side side : {Side::kClient, Side::kServer}) {
      if (called_alone && !was_called(function, side)) continue;
      const FunctionTotals totals = total(function, side);
      json outcomes;
      for (size_t i = 0; i < totals.outcomes.size(); ++i) {
        outcomes[kCallOutcomeNames[i]] = totals.outcomes[i];
      }
      all.push_back(
          {{"service", function.service},
           {"method", function.method},
           {"side", side == Side::kClient ? "client" : "server"},
           {"started", totals.started},
           {"in_flight", totals.in_flight()},
           {"outcomes", outcomes},
           {"request_bytes", totals.request_sizes.sum},
           {"response_bytes", totals.reply_sizes.sum},
           {"latency", {{"buckets", totals.latency.buckets}, {"sum_ns", totals.latency.sum}}}});
      all.back().update(carried_json(totals, control.fabric_label()));
    }
  }
  return all;
}

json certificates_json(const Control& control) {
  json all = json::array();
  for (const CertificateReport& report : control.certificates()) {
    all.push_back({{"use", report.use},
                   {"file", report.file},
                   {"subject", report.subject},
                   {"issuer", report.issuer},
                   {"names", report.names},
                   {"not_before", report.not_before},
                   {"not_after", report.not_after},
                   {"serial", report.serial},
                   {"fingerprint", report.fingerprint}});
  }
  return all;
}

json calibrate_json(const Result<uint64_t>& number) {
  if (!number) return {{"ok", false}, {"error", number.error().message}};
  return {{"ok", true}, {"number", *number}};
}

json calibration_json(const CalibrationReport& report) {
  constexpr std::array kStates = {"none", "running", "done", "failed"};
  json answer = {{"number", report.number},
                 {"state", kStates[static_cast<size_t>(report.state)]},
                 {"peer", report.peer},
                 {"error", report.error}};
  if (report.profile) {
    answer["profile"] = write_profile(*report.profile);
    answer["fabric"] = report.profile->costs.fabric;
    answer["device"] = report.profile->device;
    answer["measured"] = report.profile->measured;
    answer["costs"] = costs_json(report.profile->costs);
  }
  return answer;
}

json reload_json(const Result<ReloadReport>& report) {
  if (!report) return {{"ok", false}, {"error", report.error().message}};
  return {{"ok", true},
          {"generation", report->generation},
          {"changes", report->changes},
          {"warnings", report->warnings}};
}

}  // namespace hat
