// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics_page.h"

#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <map>
#include <tuple>
#include <utility>

#include "daemon/admin/function_series.h"
#include "daemon/admin/metric_families.h"
#include "daemon/metrics/function_totals.h"

namespace hat {
namespace {

using Type = MetricFamilies::Type;

// Adds the results of the checks of requests of peers that `allow` restricts.
void add_checks(MetricFamilies& page, Control& control) {
  uint64_t checked = 0;
  for (const WorkerCounters* worker : control.workers())
    checked += worker->checked_requests.value();
  page.counter("hatrpc_authz_checked_total",
               "Requests of peers that `allow` restricts that were checked and passed on.",
               static_cast<double>(checked));
  page.begin("hatrpc_authz_refused_total",
             "Requests of peers that `allow` restricts that were not passed on.", Type::Counter);
  for (size_t i = 0; i < thrift::kRequestFaultNames.size(); ++i) {
    uint64_t count = 0;
    for (const WorkerCounters* worker : control.workers()) {
      count += worker->refused_requests[i].value();
    }
    page.add({{"reason", thrift::kRequestFaultNames[i]}}, count);
  }
}

void add_lanes(MetricFamilies& page, const std::vector<LinkReport>& links) {
  std::map<std::tuple<std::string, std::string, std::string>, uint64_t> lanes;
  for (const LinkReport& link : links) {
    for (const LaneStatus& lane : link.lanes) ++lanes[{link.peer, lane.protocol, lane.state}];
  }
  page.begin("hatrpc_lanes", "RDMA lanes to peers, by protocol and state.", Type::Gauge);
  for (const auto& [labels, count] : lanes) {
    const auto& [peer, protocol, state] = labels;
    page.add({{"peer", peer}, {"protocol", protocol}, {"state", state}}, count);
  }
}

void add_refusals(MetricFamilies& page, Control& control) {
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

void add_spans(MetricFamilies& page, const Control& control) {
  const SpanCounts spans = control.spans();
  page.counter("hatrpc_spans_written_total", "Spans of calls written to the file of `tracing`.",
               static_cast<double>(spans.written));
  page.counter(
      "hatrpc_spans_lost_total",
      "Spans of calls for which there was no space in memory, or in the file of `tracing`.",
      static_cast<double>(spans.lost));
}

void add_traffic(MetricFamilies& page, Control& control) {
  const auto& workers = control.workers();
  const auto sum = [&](Counter WorkerCounters::*counter) {
    return static_cast<double>(total(workers, counter));
  };
  page.begin("hatrpc_local_replies_total", "Calls that hatrpcd answered itself, by reason.",
             Type::Counter);
  for (size_t i = 0; i < engine::kFailureCount; ++i) {
    const auto failure = static_cast<engine::Failure>(i);
    page.add({{"reason", std::string(engine::text(failure).token)}}, total(workers, failure));
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
  page.gauge("hatrpc_idle_streams",
             "Streams to peers that clients have left, and that wait for a later call.",
             sum(&WorkerCounters::idle_streams));
  page.begin("hatrpc_opaque_stream_failures_total",
             "Streams carried byte for byte that failed, by side and reason.", Type::Counter);
  for (size_t side = 0; side < kSides.size(); ++side) {
    for (size_t i = 0; i < engine::kFailureCount; ++i) {
      uint64_t count = 0;
      for (const WorkerCounters* worker : workers) {
        count += worker->opaque_failures[side][i].value();
      }
      const auto failure = static_cast<engine::Failure>(i);
      page.add({{"reason", std::string(engine::text(failure).token)}, {"side", kSideNames[side]}},
               static_cast<double>(count));
    }
  }
}

void add_data(MetricFamilies& page, Control& control) {
  const auto& workers = control.workers();
  const auto sum = [&](auto counter) { return static_cast<double>(total(workers, counter)); };
  page.gauge("hatrpc_upstream_connections_open", "Connections to local servers.",
             sum(&UpstreamCounters::open));
  page.counter("hatrpc_upstream_connects_total", "Attempts to connect to local servers.",
               sum(&UpstreamCounters::connects));
  page.counter(
      "hatrpc_upstream_ejections_total",
      "How often connections to a server began to avoid an address, because it has failed.",
      sum(&UpstreamCounters::ejections));
  page.counter("hatrpc_upstreams_detached_total",
               "Connections to local servers that were kept for another stream.",
               sum(&UpstreamCounters::detached));
  page.counter("hatrpc_upstreams_attached_total",
               "Connections to local servers that a stream took over from another one.",
               sum(&UpstreamCounters::attached));
  page.counter("hatrpc_oneway_dropped_total", "Oneway calls that could not be delivered.",
               sum(&WorkerCounters::oneway_dropped));
  page.begin("hatrpc_asked_pollings_total",
             "Calls whose client's daemon, which learns, asked for a polling mode.", Type::Counter);
  for (size_t i = 0; i < kAskedPollingNames.size(); ++i) {
    uint64_t count = 0;
    for (const WorkerCounters* worker : workers) count += worker->asked_pollings[i].value();
    page.add({{"result", kAskedPollingNames[i]}}, count);
  }
  page.counter("hatrpc_unsolicited_replies_total",
               "Replies of servers that do not belong to a call.",
               sum(&WorkerCounters::unsolicited_replies));
  page.gauge("hatrpc_buffered_bytes", "Bytes that hatrpcd holds for slow readers.",
             sum(&WorkerCounters::buffered_bytes));
}

// Adds the sums over all workers of PeerEvents.
void add_peer_events(MetricFamilies& page, Control& control) {
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
    page.begin(kMetrics[i].first, kMetrics[i].second, Type::Counter);
    for (const auto& [peer, sum] : sums) {
      page.add({{"peer", peer}}, sum[i]);
    }
  }
}

void add_peers(MetricFamilies& page, Control& control, const std::vector<LinkReport>& links) {
  struct Facts {
    bool is_up = false;
    bool is_slow = false;
  };
  std::map<std::string, Facts> peers;
  for (const LinkReport& link : links) {
    Facts& facts = peers[link.peer];
    facts.is_up |= link.state == engine::LinkState::kUp;
    facts.is_slow |= link.is_slow;
  }
  page.begin("hatrpc_peer_up", "1: at least one worker's link to the peer is up.", Type::Gauge);
  for (const auto& [peer, facts] : peers) page.add({{"peer", peer}}, facts.is_up ? 1.0 : 0.0);
  page.begin(
      "hatrpc_peer_slow",
      "1: clients of at least one worker prefer other peers, because calls at this peer take "
      "much longer.",
      Type::Gauge);
  for (const auto& [peer, facts] : peers) page.add({{"peer", peer}}, facts.is_slow ? 1.0 : 0.0);
  add_peer_events(page, control);
  page.gauge("hatrpc_insecure_links", "1: links are neither encrypted nor authenticated.",
             control.node().link.insecure);
}

void add_rdma(MetricFamilies& page, Control& control) {
  const auto sum = [&](Counter RdmaCounters::*counter) {
    return static_cast<double>(total(control.workers(), counter));
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
  page.counter(
      "hatrpc_frames_not_kept_total",
      "Frames of requests on RDMA lanes without a copy to send again: limits.retry_request "
      "or half of limits.max_buffered was reached.",
      sum(&RdmaCounters::frames_not_kept));
}

void add_tls(MetricFamilies& page, Control& control) {
  uint64_t handshakes = 0;
  std::array<uint64_t, kTlsFailureCount> failures{};
  for (const WorkerCounters* worker : control.workers()) {
    handshakes += worker->tls.handshakes.value();
    for (size_t i = 0; i < failures.size(); ++i) failures[i] += worker->tls.failures[i].value();
  }
  page.counter("hatrpc_tls_handshakes_total", "TLS handshakes of links that succeeded.",
               static_cast<double>(handshakes));
  page.begin("hatrpc_tls_handshake_failures_total",
             "TLS handshakes of links that failed, by reason.", Type::Counter);
  for (size_t i = 0; i < failures.size(); ++i) {
    page.add({{"reason", kTlsFailureNames[i]}}, failures[i]);
  }
}

// Adds the start and the end of each certificate's validity. An alert needs both, to relate the
// remaining time to the whole validity period. Of certificates with the same subject and use, only
// the one that expires last is added.
void add_certificates(MetricFamilies& page, Control& control) {
  std::map<std::pair<std::string, std::string>, CertificateReport> latest;
  for (CertificateReport& report : control.certificates()) {
    CertificateReport& kept = latest[{report.subject, report.use}];
    if (kept.not_after <= report.not_after) kept = std::move(report);
  }
  const auto add = [&](const char* name, const char* help, int64_t CertificateReport::*when) {
    page.begin(name, help, Type::Gauge);
    for (const auto& [labels, report] : latest) {
      page.add({{"subject", labels.first}, {"use", labels.second}},
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

void add_configuration(MetricFamilies& page, Control& control) {
  const LastReload last = control.last_reload();
  page.gauge("hatrpc_routes_generation",
             "1 at the start, plus one for each reload that was applied.",
             static_cast<double>(control.routes()->generation()));
  page.gauge("hatrpc_config_last_reload_successful",
             "1: the last reload was applied; 0: it was refused.", last.successful);
  page.gauge("hatrpc_config_last_reload_success_timestamp_seconds",
             "When the configuration was last read and applied.", last.unix_time);
  page.begin("hatrpc_config_reloads_total", "Reloads, by result.", Type::Counter);
  page.add({{"result", "success"}}, last.succeeded);
  page.add({{"result", "refused"}}, last.refused);
}

void add_names(MetricFamilies& page, Control& control) {
  const std::vector<NameReport> names = control.looked_up();
  page.begin("hatrpc_discovery_addresses",
             "Addresses in the last good answer about a name in the configuration.", Type::Gauge);
  for (const NameReport& report : names) {
    page.add({{"name", report.name}}, report.addresses.size());
  }
  page.begin("hatrpc_discovery_failing",
             "1: the last lookup of a name failed; its last good answer, if any, is used.",
             Type::Gauge);
  for (const NameReport& report : names) {
    page.add({{"name", report.name}}, report.error.empty() ? 0.0 : 1.0);
  }
  page.begin("hatrpc_discovery_lookups_total", "Lookups of a name, by result.", Type::Counter);
  for (const NameReport& report : names) {
    page.add({{"name", report.name}, {"result", "success"}}, report.answers);
    page.add({{"name", report.name}, {"result", "failed"}}, report.failures);
  }
}

void add_access_log(MetricFamilies& page, const AccessLogCounts& log) {
  page.counter("hatrpc_access_log_lines_total", "Lines written to the access log.",
               static_cast<double>(log.written));
  page.begin("hatrpc_access_log_dropped_total",
             "Calls that the access log should have, but has not, by reason.", Type::Counter);
  page.add({{"reason", "queue_full"}}, log.dropped);
  page.add({{"reason", "rate"}}, log.over_rate);
  page.add({{"reason", "write_failed"}}, log.lost);
}

void add_admin(MetricFamilies& page, const AdminTotals& admin) {
  page.gauge("hatrpc_admin_connections_open", "Connections to the admin addresses.",
             static_cast<double>(admin.connections_open));
  page.counter("hatrpc_admin_connections_closed_total",
               "Connections to an admin address that were closed because they were the oldest of "
               "too many.",
               static_cast<double>(admin.connections_closed));
}

void add_process(MetricFamilies& page, Control& control) {
  page.begin("hatrpc_build_info", "The version; always 1.", Type::Gauge);
  page.add({{"version", HAT_VERSION}}, 1.0);
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

// Adds the numbers of the page itself. These must be its last series.
void add_page(MetricFamilies& page, double last_page_seconds) {
  page.gauge("hatrpc_metrics_page_seconds", "Time that the metrics page before this one took.",
             last_page_seconds);
  page.gauge("hatrpc_metrics_series", "Series on this page.",
             static_cast<double>(page.series() + 1));
}

}  // namespace

std::string metrics_page(Control& control, const AdminTotals& admin, MetricFamilies& page) {
  page.begin_page();
  add_function_series(page, control);
  add_checks(page, control);
  add_traffic(page, control);
  add_spans(page, control);
  add_data(page, control);
  add_rdma(page, control);
  const std::vector<LinkReport> links = control.links();
  add_peers(page, control, links);
  add_lanes(page, links);
  add_tls(page, control);
  add_certificates(page, control);
  add_configuration(page, control);
  add_names(page, control);
  add_access_log(page, control.access_log());
  add_admin(page, admin);
  add_process(page, control);
  add_page(page, admin.page_seconds);
  return page.text();
}

}  // namespace hat
