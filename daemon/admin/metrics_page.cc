// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics_page.h"

#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <limits>
#include <map>
#include <sstream>
#include <tuple>

#include "daemon/metrics/function_totals.h"

namespace hat {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

constexpr std::array kSides = {Side::kClient, Side::kServer};
constexpr std::array kSideNames = {"client", "server"};

class Page {
 public:
  MetricFamily& family(const std::string& name, const std::string& help, MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }
  static ClientMetric& add(MetricFamily& family, Labels labels, double value) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return metric;
  }
  void counter(const std::string& name, const std::string& help, double value) {
    add(family(name, help, MetricType::Counter), {}, value);
  }
  void gauge(const std::string& name, const std::string& help, double value) {
    add(family(name, help, MetricType::Gauge), {}, value);
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

// Returns `labels` with `label` added as the first one: users who search the page with grep expect
// this order.
Labels with(Labels labels, const char* label, std::string_view value) {
  labels.insert(labels.begin(), {label, std::string(value)});
  return labels;
}

// A function that has been called on `side`. Only such functions have series: a manifest can name
// thousands of functions, and one host calls a few of them.
struct CalledFunction {
  FunctionMetrics* function;
  Side side;
  FunctionTotals totals;

  Labels name() const {
    return {{"thrift_method", function->method}, {"thrift_service", function->service}};
  }
  Labels labels() const { return with(name(), "side", kSideNames[static_cast<size_t>(side)]); }
};
using CalledFunctions = std::vector<CalledFunction>;

CalledFunctions called_functions(Control& control) {
  CalledFunctions called;
  for (FunctionMetrics& function : control.functions().all()) {
    for (const Side side : kSides) {
      if (was_called(function, side)) called.push_back({&function, side, total(function, side)});
    }
  }
  return called;
}

void add_calls(Page& page, const CalledFunctions& called) {
  auto& requests =
      page.family("hatrpc_requests_total", "Calls that ended, by outcome.", MetricType::Counter);
  for (const CalledFunction& one : called) {
    for (size_t i = 0; i < one.totals.outcomes.size(); ++i) {
      Labels labels = one.labels();
      labels.push_back({"outcome", kCallOutcomeNames[i]});
      Page::add(requests, std::move(labels), static_cast<double>(one.totals.outcomes[i]));
    }
  }
  const auto add = [&](const char* name, const char* help, MetricType type, const auto& value) {
    auto& family = page.family(name, help, type);
    for (const CalledFunction& one : called) {
      Page::add(family, one.labels(), static_cast<double>(value(one.totals)));
    }
  };
  add("hatrpc_requests_in_flight", "Calls that have not ended yet.", MetricType::Gauge,
      [](const FunctionTotals& totals) { return totals.in_flight(); });
  add("hatrpc_request_bytes_total", "Bytes of requests carried.", MetricType::Counter,
      [](const FunctionTotals& totals) { return totals.request_sizes.sum; });
  add("hatrpc_response_bytes_total", "Bytes of replies carried.", MetricType::Counter,
      [](const FunctionTotals& totals) { return totals.reply_sizes.sum; });
}

// Returns `used`, and without calls the ways of complete calls by which the function's plans and
// TCP carry them to a server on a host with `cores`. These ways have series before they are used,
// because PromQL's increase() ignores the first value of a new series.
std::vector<WayCount> with_planned(std::vector<WayCount> used, const Route* route,
                                   const engine::CoreCounts& cores) {
  const bool oneway = route != nullptr && route->oneway;
  std::vector<CallWay> planned = {{Carrier::kTcp, oneway ? Carrier::kNone : Carrier::kTcp}};
  const auto add = [&](const CallPlan& client) {
    if (client.plan.path != Path::kRdma) return;
    const Carrier reply = oneway ? Carrier::kNone : carrier(client.lanes.small.at(cores).response);
    planned.push_back({carrier(client.plan.small), reply});
    planned.push_back({carrier(client.plan.large), reply});
  };
  if (route != nullptr) {
    add(route->client);
    for (const auto& [peer, client] : route->client_to) add(client);
  }
  for (const CallWay& way : planned) {
    if (std::ranges::find(used, way, &WayCount::way) == used.end()) used.push_back({way, 0});
  }
  return used;
}

// Adds the calls of each function by what carried them, and its fallbacks by reason. Only the
// daemon on the client's side counts these, because it chooses between RDMA and TCP.
void add_ways(Page& page, Control& control, const CalledFunctions& called) {
  auto& calls = page.family("hatrpc_calls_total",
                            "Calls of the client's side that were sent and have ended, by the "
                            "protocols that carried request and reply, and the fabric.",
                            MetricType::Counter);
  const auto routes = control.routes();
  const std::string fabric = control.fabric_label();
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    const ServiceRoutes* service = routes->find(one.function->service);
    const Route* route = service ? &service->find(one.function->method) : nullptr;
    for (const auto& [way, count] : with_planned(one.totals.ways, route, routes->cores())) {
      Labels labels = {{"fabric", way.request == Carrier::kTcp ? "tcp" : fabric},
                       {"request_protocol", std::string(name(way.request))},
                       {"reply_protocol", std::string(name(way.reply))}};
      for (ClientMetric::Label& label : one.name()) labels.push_back(std::move(label));
      Page::add(calls, std::move(labels), static_cast<double>(count));
    }
  }
  auto& retries =
      page.family("hatrpc_retries_total", "How often calls were sent again after a failure.",
                  MetricType::Counter);
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    Page::add(retries, one.name(), static_cast<double>(one.totals.retries));
  }
  auto& fallbacks = page.family("hatrpc_fallbacks_total",
                                "Calls that used TCP although their plan requests RDMA, by reason.",
                                MetricType::Counter);
  for (const CalledFunction& one : called) {
    if (one.side != Side::kClient) continue;
    for (size_t i = 0; i < one.totals.fallbacks.size(); ++i) {
      Page::add(fallbacks, with(one.name(), "reason", kFallbackNames[i]),
                static_cast<double>(one.totals.fallbacks[i]));
    }
  }
}

// Adds the number of calls that an `allow` rule has denied. Only the daemon on the server's side
// has these counts, because it checks the rules. A function with a rule has its series before its
// first call: that call can be denied, and PromQL's increase() ignores the first value of a new
// series.
void add_denials(Page& page, Control& control) {
  auto& denied = page.family("hatrpc_authz_denied_total",
                             "Calls of functions that `allow` denies to the peer, by mode.",
                             MetricType::Counter);
  const auto routes = control.routes();
  for (FunctionMetrics& function : control.functions().all()) {
    const FunctionTotals totals = total(function, Side::kServer);
    const ServiceRoutes* service = routes->find(function.service);
    const bool ruled = service != nullptr && service->find(function.method).access;
    if (!ruled && totals.denied[0] + totals.denied[1] == 0) continue;
    for (size_t i = 0; i < totals.denied.size(); ++i) {
      Page::add(denied,
                {{"mode", i == 0 ? "enforce" : "dry_run"},
                 {"thrift_method", function.method},
                 {"thrift_service", function.service}},
                static_cast<double>(totals.denied[i]));
    }
  }
  uint64_t checked = 0;
  for (const WorkerCounters* worker : control.workers())
    checked += worker->checked_requests.value();
  page.counter("hatrpc_authz_checked_total",
               "Requests of peers that `allow` restricts that were checked and passed on.",
               static_cast<double>(checked));
  auto& refused = page.family("hatrpc_authz_refused_total",
                              "Requests of peers that `allow` restricts that were not passed on.",
                              MetricType::Counter);
  for (size_t i = 0; i < thrift::kRequestFaultNames.size(); ++i) {
    uint64_t count = 0;
    for (const WorkerCounters* worker : control.workers()) {
      count += worker->refused_requests[i].value();
    }
    Page::add(refused, {{"reason", thrift::kRequestFaultNames[i]}}, static_cast<double>(count));
  }
}

void add_lanes(Page& page, Control& control) {
  std::map<std::tuple<std::string, std::string, std::string>, uint64_t> lanes;
  for (const LinkReport& link : control.links()) {
    for (const LaneStatus& lane : link.lanes) ++lanes[{link.peer, lane.protocol, lane.state}];
  }
  auto& family =
      page.family("hatrpc_lanes", "RDMA lanes to peers, by protocol and state.", MetricType::Gauge);
  for (const auto& [labels, count] : lanes) {
    const auto& [peer, protocol, state] = labels;
    Page::add(family, {{"peer", peer}, {"protocol", protocol}, {"state", state}},
              static_cast<double>(count));
  }
}

void add_durations(Page& page, const CalledFunctions& called) {
  auto& durations =
      page.family("hatrpc_request_duration_seconds",
                  "Time from a call's first byte to its reply's last byte, as seen by this daemon.",
                  MetricType::Histogram);
  for (const CalledFunction& one : called) {
    const auto& latency = one.totals.latency;
    ClientMetric& metric = durations.metric.emplace_back();
    metric.label = one.labels();
    auto& histogram = metric.histogram;
    double bound = 1e-6;
    for (size_t i = 0; i < latency.buckets.size(); ++i, bound *= 2) {
      histogram.sample_count += latency.buckets[i];
      const bool last = i + 1 == latency.buckets.size();
      histogram.bucket.push_back(
          {histogram.sample_count, last ? std::numeric_limits<double>::infinity() : bound});
    }
    histogram.sample_sum = static_cast<double>(latency.sum) / 1e9;
  }
}

void add_plans(Page& page, Control& control, const CalledFunctions& called) {
  auto& plans =
      page.family("hatrpc_route_info", "The plan of a called function, as a label; always 1.",
                  MetricType::Gauge);
  const auto routes = control.routes();
  for (const CalledFunction& one : called) {
    const ServiceRoutes* service = routes->find(one.function->service);
    if (service == nullptr) continue;
    const Route& route = service->find(one.function->method);
    if (route.method != one.function->method) continue;  // a reload has removed the function
    const engine::Plan& plan = one.side == Side::kClient ? route.client.plan : route.server;
    Page::add(plans, with(one.labels(), "plan", describe(plan)), 1);
  }
}

void add_refusals(Page& page, Control& control) {
  const auto& workers = control.workers();
  const auto sum = [&](Counter WorkerCounters::*counter) {
    return static_cast<double>(total(workers, counter));
  };
  page.counter(
      "hatrpc_connections_refused_total",
      "Client connections closed at once: limits.max_connections was reached, or hatrpcd drains.",
      sum(&WorkerCounters::connections_refused));
  page.counter("hatrpc_retries_refused_total",
               "Calls that were not sent again because of limits.retry_percent.",
               sum(&WorkerCounters::retries_refused));
  page.counter("hatrpc_links_refused_total",
               "Links refused at limits.max_links, or at a quarter of it for one peer.",
               sum(&WorkerCounters::links_refused));
  page.counter(
      "hatrpc_peer_connections_refused_total",
      "Streams of peers that were refused because limits.max_peer_connections was reached.",
      sum(&WorkerCounters::peer_streams_refused));
}

void add_traffic(Page& page, Control& control) {
  const auto& workers = control.workers();
  const auto sum = [&](Counter WorkerCounters::*counter) {
    return static_cast<double>(total(workers, counter));
  };
  auto& local = page.family("hatrpc_local_replies_total",
                            "Calls that hatrpcd answered itself, by reason.", MetricType::Counter);
  for (size_t i = 0; i < engine::kFailureCount; ++i) {
    const auto failure = static_cast<engine::Failure>(i);
    Page::add(local, {{"reason", std::string(engine::text(failure).token)}},
              static_cast<double>(total(workers, failure)));
  }
  page.gauge("hatrpc_connections_open", "Client connections.",
             sum(&WorkerCounters::connections_open));
  page.counter("hatrpc_connections_accepted_total", "Client connections accepted.",
               sum(&WorkerCounters::connections_accepted));
  add_refusals(page, control);
  page.counter("hatrpc_connections_taken_over_total",
               "Client connections that this process took over from the previous hatrpcd.",
               sum(&WorkerCounters::connections_taken_over));
  page.counter(
      "hatrpc_opaque_streams_total",
      "Streams carried byte for byte, because hatrpcd cannot follow their bytes as Thrift.",
      sum(&WorkerCounters::opaque_streams));
  auto& failed = page.family("hatrpc_opaque_stream_failures_total",
                             "Streams carried byte for byte that failed, by side and reason.",
                             MetricType::Counter);
  for (size_t side = 0; side < kSides.size(); ++side) {
    for (size_t i = 0; i < engine::kFailureCount; ++i) {
      uint64_t count = 0;
      for (const WorkerCounters* worker : workers) {
        count += worker->opaque_failures[side][i].value();
      }
      const auto failure = static_cast<engine::Failure>(i);
      Page::add(failed,
                {{"reason", std::string(engine::text(failure).token)}, {"side", kSideNames[side]}},
                static_cast<double>(count));
    }
  }
}

void add_data(Page& page, Control& control) {
  const auto& workers = control.workers();
  const auto sum = [&](Counter WorkerCounters::*counter) {
    return static_cast<double>(total(workers, counter));
  };
  page.gauge("hatrpc_upstream_connections_open", "Connections to local servers.",
             sum(&WorkerCounters::upstream_connections_open));
  page.counter("hatrpc_upstream_connects_total", "Attempts to connect to local servers.",
               sum(&WorkerCounters::upstream_connects));
  page.counter("hatrpc_upstreams_detached_total",
               "Connections to local servers that were kept for another stream.",
               sum(&WorkerCounters::upstreams_detached));
  page.counter("hatrpc_upstreams_attached_total",
               "Connections to local servers that a stream took over from another one.",
               sum(&WorkerCounters::upstreams_attached));
  page.counter("hatrpc_oneway_dropped_total", "Oneway calls that could not be delivered.",
               sum(&WorkerCounters::oneway_dropped));
  auto& asked = page.family("hatrpc_asked_pollings_total",
                            "Calls whose client's daemon, which learns, asked for a polling mode.",
                            MetricType::Counter);
  for (size_t i = 0; i < kAskedPollingNames.size(); ++i) {
    uint64_t count = 0;
    for (const WorkerCounters* worker : workers) count += worker->asked_pollings[i].value();
    Page::add(asked, {{"result", kAskedPollingNames[i]}}, static_cast<double>(count));
  }
  page.counter("hatrpc_unsolicited_replies_total",
               "Replies of servers that do not belong to a call.",
               sum(&WorkerCounters::unsolicited_replies));
  page.gauge("hatrpc_buffered_bytes", "Bytes that hatrpcd holds for slow readers.",
             sum(&WorkerCounters::buffered_bytes));
}

// Adds the sums over all workers of PeerEvents.
void add_peer_events(Page& page, Control& control) {
  std::map<std::string, PeerEvents::Counts> sums;
  for (const WorkerCounters* worker : control.workers()) {
    for (const auto& [peer, counts] : worker->peer_events.all()) {
      PeerEvents::Counts& sum = sums[peer];
      for (size_t i = 0; i < counts.size(); ++i) sum[i] += counts[i];
    }
  }
  constexpr std::array<std::pair<const char*, const char*>, std::tuple_size_v<PeerEvents::Counts>>
      kMetrics = {{
          {"hatrpc_peer_sessions_total", "Links to the peer that came up, on all workers."},
          {"hatrpc_idle_links_ended_total",
           "Links to the peer that ended because no client needed them, on all workers."},
          {"hatrpc_peer_ejections_total",
           "How often calls began to prefer other peers, because calls at this peer have failed."},
          {"hatrpc_streams_resumed_total",
           "Streams to the peer that continued over TCP after the loss of their RDMA lane."},
      }};
  for (size_t i = 0; i < kMetrics.size(); ++i) {
    auto& family = page.family(kMetrics[i].first, kMetrics[i].second, MetricType::Counter);
    for (const auto& [peer, sum] : sums) {
      Page::add(family, {{"peer", peer}}, static_cast<double>(sum[i]));
    }
  }
}

void add_peers(Page& page, Control& control) {
  std::map<std::string, bool> up;
  for (const LinkReport& link : control.links()) {
    up[link.peer] |= link.state == engine::LinkState::kUp;
  }
  auto& peers = page.family("hatrpc_peer_up", "1: at least one worker's link to the peer is up.",
                            MetricType::Gauge);
  for (const auto& [peer, is_up] : up) Page::add(peers, {{"peer", peer}}, is_up);
  add_peer_events(page, control);
  page.gauge("hatrpc_insecure_links", "1: links are neither encrypted nor authenticated.",
             control.node().link.insecure);
}

void add_rdma(Page& page, Control& control) {
  const auto sum = [&](Counter RdmaCounters::*counter) {
    double all = 0;
    for (const WorkerCounters* worker : control.workers()) {
      all += static_cast<double>((worker->rdma.*counter).value());
    }
    return all;
  };
  page.counter("hatrpc_lanes_refused_total",
               "RDMA lanes of peers that were refused; the peers' calls use TCP.",
               sum(&RdmaCounters::lanes_refused));
  page.gauge("hatrpc_rdma_memory_bytes", "Memory registered for the RDMA lanes of all links.",
             sum(&RdmaCounters::registered_bytes));
  page.counter("hatrpc_zero_copy_bytes_total",
               "Bytes that RDMA lanes took directly from an application's ring.",
               sum(&RdmaCounters::zero_copy_bytes));
  page.counter("hatrpc_zero_copy_received_bytes_total",
               "Bytes that RDMA lanes read directly into an application's ring.",
               sum(&RdmaCounters::landed_bytes));
}

void add_tls(Page& page, Control& control) {
  uint64_t handshakes = 0;
  std::array<uint64_t, kTlsFailureCount> failures{};
  for (const WorkerCounters* worker : control.workers()) {
    handshakes += worker->tls.handshakes.value();
    for (size_t i = 0; i < failures.size(); ++i) failures[i] += worker->tls.failures[i].value();
  }
  page.counter("hatrpc_tls_handshakes_total", "TLS handshakes of links that succeeded.",
               static_cast<double>(handshakes));
  auto& failed =
      page.family("hatrpc_tls_handshake_failures_total",
                  "TLS handshakes of links that failed, by reason.", MetricType::Counter);
  for (size_t i = 0; i < failures.size(); ++i) {
    Page::add(failed, {{"reason", kTlsFailureNames[i]}}, static_cast<double>(failures[i]));
  }
}

// Adds the start and the end of each certificate's validity. An alert needs both, to relate the
// remaining time to the whole validity period. Of certificates with the same subject and use, only
// the one that expires last is added.
void add_certificates(Page& page, Control& control) {
  std::map<std::pair<std::string, std::string>, CertificateReport> latest;
  for (CertificateReport& report : control.certificates()) {
    CertificateReport& kept = latest[{report.subject, report.use}];
    if (kept.not_after <= report.not_after) kept = std::move(report);
  }
  const auto add = [&](const char* name, const char* help, int64_t CertificateReport::*when) {
    auto& family = page.family(name, help, MetricType::Gauge);
    for (const auto& [labels, report] : latest) {
      Page::add(family, {{"subject", labels.first}, {"use", labels.second}},
                static_cast<double>(report.*when));
    }
  };
  add("hatrpc_tls_certificate_not_before_timestamp_seconds",
      "Start of validity of this node's certificate, its CAs' and its revocation lists.",
      &CertificateReport::not_before);
  add("hatrpc_tls_certificate_expiry_timestamp_seconds",
      "End of validity of this node's certificate, its CAs' and its revocation lists.",
      &CertificateReport::not_after);
}

void add_configuration(Page& page, Control& control) {
  const LastReload last = control.last_reload();
  page.gauge("hatrpc_routes_generation",
             "1 at the start, plus one for each reload that was applied.",
             static_cast<double>(control.routes()->generation()));
  page.gauge("hatrpc_config_last_reload_successful",
             "1: the last reload was applied; 0: it was refused.", last.successful);
  page.gauge("hatrpc_config_last_reload_success_timestamp_seconds",
             "When the configuration was last read and applied.", last.unix_time);
  auto& reloads =
      page.family("hatrpc_config_reloads_total", "Reloads, by result.", MetricType::Counter);
  Page::add(reloads, {{"result", "success"}}, static_cast<double>(last.succeeded));
  Page::add(reloads, {{"result", "refused"}}, static_cast<double>(last.refused));
}

void add_names(Page& page, Control& control) {
  const std::vector<NameReport> names = control.looked_up();
  auto& addresses = page.family("hatrpc_discovery_addresses",
                                "Addresses in the last good answer about a name in the "
                                "configuration.",
                                MetricType::Gauge);
  auto& failing =
      page.family("hatrpc_discovery_failing",
                  "1: the last lookup of a name failed; its last good answer, if any, is used.",
                  MetricType::Gauge);
  auto& lookups = page.family("hatrpc_discovery_lookups_total", "Lookups of a name, by result.",
                              MetricType::Counter);
  for (const NameReport& report : names) {
    Page::add(addresses, {{"name", report.name}}, static_cast<double>(report.addresses.size()));
    Page::add(failing, {{"name", report.name}}, report.error.empty() ? 0 : 1);
    Page::add(lookups, {{"name", report.name}, {"result", "success"}},
              static_cast<double>(report.answers));
    Page::add(lookups, {{"name", report.name}, {"result", "failed"}},
              static_cast<double>(report.failures));
  }
}

void add_admin(Page& page, const AdminTotals& admin) {
  page.gauge("hatrpc_admin_connections_open", "Connections to the admin addresses.",
             static_cast<double>(admin.connections_open));
  page.counter("hatrpc_admin_connections_closed_total",
               "Connections to an admin address that were closed because they were the oldest of "
               "too many.",
               static_cast<double>(admin.connections_closed));
}

void add_process(Page& page, Control& control) {
  Page::add(page.family("hatrpc_build_info", "The version; always 1.", MetricType::Gauge),
            {{"version", HAT_VERSION}}, 1);
  page.gauge("hatrpc_workers", "Threads that carry calls.",
             static_cast<double>(control.workers().size()));
  page.gauge("hatrpc_draining", "1: hatrpcd is shutting down and finishes the calls in flight.",
             control.draining());
  page.gauge("process_start_time_seconds", "When the process started.", control.start_unix_time());
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  page.counter("process_cpu_seconds_total", "Processor time, user and system.",
               seconds(usage.ru_utime) + seconds(usage.ru_stime));
  std::ifstream statm("/proc/self/statm");
  uint64_t size_pages = 0;
  uint64_t resident_pages = 0;
  statm >> size_pages >> resident_pages;
  page.gauge("process_resident_memory_bytes", "Resident memory.",
             static_cast<double>(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE)));
  std::error_code error;
  const auto descriptors = std::filesystem::directory_iterator("/proc/self/fd", error);
  page.gauge("process_open_fds", "Open descriptors.",
             static_cast<double>(std::distance(begin(descriptors), end(descriptors))));
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  page.gauge("process_max_fds", "Descriptors that may be open.",
             static_cast<double>(limit.rlim_cur));
}

}  // namespace

std::string metrics_page(Control& control, const AdminTotals& admin) {
  Page page;
  const CalledFunctions called = called_functions(control);
  add_calls(page, called);
  add_ways(page, control, called);
  add_durations(page, called);
  add_plans(page, control, called);
  add_traffic(page, control);
  add_data(page, control);
  add_rdma(page, control);
  add_peers(page, control);
  add_denials(page, control);
  add_tls(page, control);
  add_certificates(page, control);
  add_lanes(page, control);
  add_configuration(page, control);
  add_names(page, control);
  add_admin(page, admin);
  add_process(page, control);
  return page.text();
}

}  // namespace hat
