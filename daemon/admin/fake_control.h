// SPDX-License-Identifier: Apache-2.0
// daemon/admin/fake_control.h: a Control for tests of the admin API. It reports the state that the
// test sets, and records the changes that requests ask for.
#pragma once

#include <deque>

#include "config/manifest.h"
#include "daemon/admin/control.h"

namespace hat {

// Members  One for each thing that the daemon reports.
class FakeControl final : public Control {
 public:
  static constexpr size_t kWorkers = 2;

  explicit FakeControl(size_t workers = kWorkers) : registry(workers) {
    config.node = "host-a";
    for (size_t i = 0; i < workers; ++i) views_.push_back(&counters.emplace_back());
    set_manifest({"", {{"Kv", {}, {{"get", false, {}, "kv.thrift:3:1"}}, ""}}});
  }

  void set_manifest(const Manifest& manifest,
                    const engine::HostFacts& host = {8, 8, false, "none is here"}) {
    routes_ = std::make_shared<const RoutingTable>(generation, manifest, std::vector<std::string>{},
                                                   host, registry);
  }

  const NodeConfig& node() const override { return config; }
  std::string config_file() const override { return "/etc/hatrpc/host-a.yaml"; }
  std::vector<std::string> manifest_files() const override { return {"/etc/hatrpc/kv.yaml"}; }
  std::shared_ptr<const RoutingTable> routes() const override { return routes_; }
  MetricsRegistry& functions() override { return registry; }
  const Observations& observations() const override { return observed; }
  const std::vector<const WorkerCounters*>& workers() const override { return views_; }
  std::vector<LinkReport> links() const override { return link_reports; }
  WorkersReport<PeerReport> peers(size_t most) const override {
    most_reports = most;
    return {silent_workers, left_out, peer_reports};
  }
  WorkersReport<AvoidedReport> avoided_peers(size_t most) const override {
    most_reports = most;
    return {silent_workers, left_out, avoided_reports};
  }
  ConnectionsReport connections(ConnectionOrder order, size_t most) const override {
    asked_for_connections.push_back({order, most});
    return connection_reports;
  }
  WorkersReport<WayReport> ways_of(const std::string&, const std::string&,
                                   size_t most) const override {
    most_reports = most;
    return {silent_workers, left_out, way_reports};
  }
  std::vector<LearnedReport> learned() const override { return learned_reports; }
  std::vector<SlowCallReport> slowest_calls() const override { return slow_reports; }
  WorkersReport<UnansweredReport> unanswered_calls(size_t most) const override {
    most_reports = most;
    return {silent_workers, left_out, unanswered_reports};
  }
  AccessLogCounts access_log() const override { return logged; }
  SpanCounts spans() const override { return span_counts; }
  std::string fabric() const override { return "loop: shared memory"; }
  std::string fabric_kind() const override { return "loop"; }
  std::string fabric_label() const override { return "verbs:mlx5_0"; }
  std::vector<WorkerPlacement> placements() const override { return worker_placements; }
  const NumaHints& numa_hints() const override { return numa; }
  std::vector<CertificateReport> certificates() const override { return certificate_reports; }
  double start_unix_time() const override { return 1000; }
  LastReload last_reload() const override { return last; }
  std::vector<NameReport> looked_up() const override { return name_reports; }
  bool draining() const override { return drains > 0; }
  std::vector<std::string> pending() const override { return what_is_pending; }
  bool alive() override { return is_alive; }
  Result<ReloadReport> reload(bool dry_run) override {
    reloads.push_back(dry_run ? "dry run" : "reload");
    return next_report;
  }
  void drain() override { ++drains; }
  Result<uint64_t> calibrate(const std::string& peer) override {
    if (peer != "host-b") return fail(ErrorCode::kNotFound, "no peer is called '" + peer + "'");
    last_calibration = {.number = 3, .state = CalibrationReport::State::kRunning, .peer = peer};
    return last_calibration.number;
  }
  CalibrationReport calibration() const override { return last_calibration; }

  NodeConfig config;
  MetricsRegistry registry;
  Observations observed{TimePoint{}};
  std::deque<WorkerCounters> counters;
  std::vector<LinkReport> link_reports;
  std::vector<PeerReport> peer_reports;
  std::vector<AvoidedReport> avoided_reports;
  size_t silent_workers = 0;
  size_t left_out = 0;
  mutable size_t most_reports = 0;  // of the last question
  ConnectionsReport connection_reports;
  mutable std::vector<std::pair<ConnectionOrder, size_t>> asked_for_connections;
  std::vector<WayReport> way_reports;
  std::vector<LearnedReport> learned_reports;
  std::vector<SlowCallReport> slow_reports;
  std::vector<UnansweredReport> unanswered_reports;
  AccessLogCounts logged;
  SpanCounts span_counts;
  std::vector<CertificateReport> certificate_reports;
  std::vector<NameReport> name_reports;
  std::vector<WorkerPlacement> worker_placements = {{.cores = {0}, .node = 0}, {.node = 1}};
  NumaHints numa;
  LastReload last;
  std::vector<std::string> what_is_pending;
  bool is_alive = true;
  uint64_t generation = 7;
  Result<ReloadReport> next_report = ReloadReport{8, {"Kv.get: client: a → b"}, {}};
  std::vector<std::string> reloads;  // in the order of the requests
  int drains = 0;
  CalibrationReport last_calibration;

 private:
  std::shared_ptr<const RoutingTable> routes_;
  std::vector<const WorkerCounters*> views_;
};

}  // namespace hat
