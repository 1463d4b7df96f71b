// SPDX-License-Identifier: Apache-2.0
#include "kv/server/metrics.h"

#include <event2/buffer.h>
#include <event2/thread.h>
#include <netinet/in.h>
#include <prometheus/text_serializer.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <limits>

namespace hat {
namespace {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;
using Labels = std::vector<ClientMetric::Label>;

class MetricsPage {
 public:
  MetricFamily& family(const std::string& name, const std::string& help, MetricType type) {
    families_.push_back({name, help, type, {}});
    return families_.back();
  }
  static void add(MetricFamily& family, Labels labels, double value) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    (family.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
  }
  // Adds a histogram to `family`. `first_bound` is the upper bound of the first bucket; each later
  // bound is twice the bound before. `unit` is the value of 1 in the snapshot's sum. Both arguments
  // are in the unit of the metric: 1e-9 is 1 ns in a metric in seconds.
  template <size_t Buckets>
  static void add(MetricFamily& family, Labels labels, const HistogramSnapshot<Buckets>& snapshot,
                  double first_bound, double unit) {
    ClientMetric& metric = family.metric.emplace_back();
    metric.label = std::move(labels);
    double bound = first_bound;
    for (size_t i = 0; i < snapshot.buckets.size(); ++i, bound *= 2) {
      metric.histogram.sample_count += snapshot.buckets[i];
      const bool last = i + 1 == snapshot.buckets.size();
      metric.histogram.bucket.push_back(
          {metric.histogram.sample_count, last ? std::numeric_limits<double>::infinity() : bound});
    }
    metric.histogram.sample_sum = static_cast<double>(snapshot.sum) * unit;
  }
  void counter(const std::string& name, const std::string& help, uint64_t value) {
    add(family(name, help, MetricType::Counter), {}, static_cast<double>(value));
  }
  void gauge(const std::string& name, const std::string& help, double value) {
    add(family(name, help, MetricType::Gauge), {}, value);
  }
  std::string text() const { return prometheus::TextSerializer().Serialize(families_); }

 private:
  std::vector<MetricFamily> families_;
};

constexpr double kMicrosecond = 1e-6;
constexpr double kNanosecond = 1e-9;
constexpr ev_ssize_t kBodyBytesMax = 4096;
constexpr ev_ssize_t kHeaderBytesMax = 16384;
constexpr int kIdleSeconds = 10;

void add_operations(MetricsPage& page, Operations& operations) {
  auto& calls = page.family("hatkv_operations_total", "Calls that ended, by function and outcome.",
                            MetricType::Counter);
  for (size_t i = 0; i < kOperationNames.size(); ++i) {
    for (size_t j = 0; j < kOutcomeNames.size(); ++j) {
      MetricsPage::add(calls,
                       {{"operation", std::string(kOperationNames[i])},
                        {"outcome", std::string(kOutcomeNames[j])}},
                       static_cast<double>(operations.counters[i].outcomes[j].value()));
    }
  }
  auto& durations =
      page.family("hatkv_operation_duration_seconds",
                  "Time that the handler takes for a call, waits for the disk included.",
                  MetricType::Histogram);
  for (size_t i = 0; i < kOperationNames.size(); ++i) {
    MetricsPage::add(durations, {{"operation", std::string(kOperationNames[i])}},
                     operations.counters[i].durations.read(), kMicrosecond, kNanosecond);
  }
  page.gauge("hatkv_connections", "Open connections of clients.",
             static_cast<double>(operations.connections.load()));
}

void add_store(MetricsPage& page, const Store::Statistics& now) {
  const EnvironmentUsage& usage = now.usage;
  const auto number = [](uint64_t value) { return static_cast<double>(value); };
  MetricsPage::add(page.family("hatkv_commit_writes",
                               "Calls that share one commit; the count is the number of commits.",
                               MetricType::Histogram),
                   {}, now.writes_per_commit, 1, 1);
  MetricsPage::add(
      page.family(
          "hatkv_commit_duration_seconds",
          "Time to apply and commit the changes of a group of calls, waits for the disk included.",
          MetricType::Histogram),
      {}, now.commit_times, kMicrosecond, kNanosecond);
  page.gauge("hatkv_writes_waiting", "Writes that wait for a commit or are being committed.",
             number(now.writes_waiting));
  page.counter("hatkv_syncs_total", "Commits and background syncs that waited for the disk.",
               usage.syncs);
  page.counter("hatkv_sync_failures_total",
               "Syncs of the store to disk that failed: background syncs, and the sync when the "
               "server stops.",
               usage.sync_failures);
  page.counter("hatkv_map_growths_total", "How often LMDB's memory map was enlarged.",
               usage.growths);
  page.counter("hatkv_reader_waits_total",
               "Reads that waited for a free reader or for the map to grow.", usage.reader_waits);
  page.gauge("hatkv_readers", "Maximum number of concurrent readers.", usage.readers);
  page.gauge("hatkv_readers_in_use", "Readers in use now.", usage.readers_in_use);
  page.gauge("hatkv_records", "Keys in the store.", number(usage.records));
  page.gauge("hatkv_data_bytes", "Bytes of the pages that hold the keys and values.",
             number(usage.data_bytes));
  page.gauge("hatkv_file_bytes", "Bytes of the store's file, free pages included.",
             number(usage.file_bytes));
  page.gauge("hatkv_map_bytes",
             "Size of LMDB's memory map, the size up to which the file may grow.",
             number(usage.map_bytes));
}

void send(evhttp_request* request, int status, const char* type, const std::string& body) {
  evhttp_add_header(evhttp_request_get_output_headers(request), "Content-Type", type);
  evbuffer* buffer = evhttp_request_get_output_buffer(request);
  evbuffer_add(buffer, body.data(), body.size());
  evhttp_send_reply(request, status, nullptr, nullptr);
}

uint16_t port_of(evutil_socket_t socket) {
  sockaddr_storage bound{};
  socklen_t size = sizeof bound;
  if (getsockname(socket, reinterpret_cast<sockaddr*>(&bound), &size) != 0) return 0;
  return ntohs(bound.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(bound).sin6_port
                                           : reinterpret_cast<sockaddr_in&>(bound).sin_port);
}

}  // namespace

std::string kv_metrics_page(const MetricsSource& source) {
  MetricsPage page;
  MetricsPage::add(
      page.family("hatkv_build_info", "Version and durability in labels; the value is always 1.",
                  MetricType::Gauge),
      {{"durability", source.durability}, {"version", source.version}}, 1);
  add_operations(page, source.operations);
  if (const auto now = source.store.statistics()) add_store(page, *now);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  page.gauge("process_resident_memory_max_bytes",
             "Maximum resident memory so far, mapped pages included.",
             static_cast<double>(usage.ru_maxrss) * 1024);
  return page.text();
}

Result<std::unique_ptr<MetricsServer>> MetricsServer::start(const Address& address,
                                                            MetricsSource source) {
  evthread_use_pthreads();  // so that the destructor may stop the event loop of another thread
  std::unique_ptr<MetricsServer> server(new MetricsServer(address, std::move(source)));
  server->base_.reset(event_base_new());
  server->http_.reset(evhttp_new(server->base_.get()));
  evhttp_bound_socket* bound =
      evhttp_bind_socket_with_handle(server->http_.get(), address.host.c_str(), address.port);
  if (bound == nullptr) {
    return fail(ErrorCode::kSystem, "cannot listen on " + to_string(address) +
                                        " for metrics: the address is in use, "
                                        "or this host does not have it");
  }
  server->address_.port = port_of(evhttp_bound_socket_get_fd(bound));
  evhttp_set_gencb(server->http_.get(), on_request, server.get());
  evhttp_set_max_body_size(server->http_.get(), kBodyBytesMax);
  evhttp_set_max_headers_size(server->http_.get(), kHeaderBytesMax);
  evhttp_set_timeout(server->http_.get(), kIdleSeconds);
  server->thread_ = std::jthread([base = server->base_.get()] { event_base_dispatch(base); });
  return server;
}

MetricsServer::~MetricsServer() {
  if (!thread_.joinable()) return;
  // Queue an event that stops the event loop. If the thread has not entered the loop yet, the event
  // stays queued, but a call of event_base_loopbreak() here would have no effect.
  const timeval now{};
  const auto end = [](evutil_socket_t, short, void* base) {
    event_base_loopbreak(static_cast<event_base*>(base));
  };
  event_base_once(base_.get(), -1, EV_TIMEOUT, end, base_.get(), &now);
  thread_.join();
}

void MetricsServer::on_request(evhttp_request* request, void* self) {
  const MetricsSource& source = static_cast<MetricsServer*>(self)->source_;
  const char* path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(request));
  const std::string_view asked = path == nullptr ? "" : path;
  if (evhttp_request_get_command(request) != EVHTTP_REQ_GET) {
    send(request, HTTP_BADMETHOD, "text/plain", "hatkv answers only GET\n");
  } else if (asked == "/metrics") {
    send(request, HTTP_OK, "text/plain; version=0.0.4; charset=utf-8", kv_metrics_page(source));
  } else if (asked == "/healthz") {
    const auto readable = source.store.check();
    send(request, readable ? HTTP_OK : HTTP_SERVUNAVAIL, "text/plain",
         readable ? "ok\n" : readable.error().message + "\n");
  } else {
    send(request, HTTP_NOTFOUND, "text/plain", "hatkv answers GET /metrics and GET /healthz\n");
  }
}

}  // namespace hat
