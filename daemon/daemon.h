// daemon/daemon.h: the running daemon: its workers, its admin server, its reloads and its end.
//
// Thread   the main thread's.
#pragma once

#include <event2/event.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned.h"
#include "daemon/admin.h"
#include "daemon/calibrator.h"
#include "daemon/configuration.h"
#include "daemon/control.h"
#include "daemon/worker_thread.h"

namespace hat {

class Daemon final : public Control {
 public:
  // Opens every socket, so that what fails fails before anything runs.
  static Result<std::unique_ptr<Daemon>> open(const std::string& config_file,
                                              Configuration configuration);
  ~Daemon() override;

  // Serves until drained, or until a second signal.
  void run();

  // Control.
  const NodeConfig& node() const override { return *node_; }
  std::shared_ptr<const RoutingTable> routes() const override { return routes_; }
  MetricsRegistry& functions() override { return functions_; }
  const std::vector<const WorkerCounters*>& workers() const override { return counter_views_; }
  std::vector<LinkReport> links() const override;
  std::string fabric() const override;
  std::vector<CertificateReport> certificates() const override;
  double start_unix_time() const override { return start_unix_time_; }
  LastReload last_reload() const override { return last_reload_; }
  bool draining() const override { return draining_; }
  std::vector<std::string> pending() const override;
  bool alive() override;
  Result<ReloadReport> reload(bool dry_run) override;
  void drain() override;
  Result<uint64_t> calibrate(const std::string& peer) override;
  CalibrationReport calibration() const override;

 private:
  struct Sockets {
    std::vector<ListenSocket> endpoints;
    std::optional<ListenSocket> link;
    std::optional<ListenSocket> admin_http;
    std::optional<ListenSocket> admin_socket;
  };

  Daemon(std::string config_file, Configuration configuration, Sockets sockets,
         std::vector<std::unique_ptr<WorkerThread>> threads);

  static void on_signal(evutil_socket_t signal, short, void* self);
  static void on_tick(evutil_socket_t, short, void* self);
  void log_start() const;
  void look_for_changes();
  void leave_if_drained();
  Result<ReloadReport> try_reload(bool dry_run);
  std::shared_ptr<const RoutingTable> make_routes(uint64_t generation,
                                                  const Configuration& configuration);
  // Why the profile says nothing here; empty: it does, or there is none.
  std::string profile_unused(const Configuration& configuration) const;

  const std::string config_file_;
  const std::string node_text_;
  const std::shared_ptr<const NodeConfig> node_;
  const double start_unix_time_;
  MetricsRegistry functions_;
  std::vector<std::unique_ptr<WorkerCounters>> counters_;
  std::vector<const WorkerCounters*> counter_views_;
  std::shared_ptr<const RoutingTable> routes_;
  std::shared_ptr<const TlsContext> tls_;  // null: links have no TLS
  LastReload last_reload_;
  uint64_t applied_fingerprint_ = 0;
  uint64_t seen_fingerprint_ = 0;
  bool draining_ = false;
  TimePoint drain_until_{};
  Sockets sockets_;
  std::unique_ptr<Calibrator> calibrator_;  // null: no RDMA; its workers' answerer
  mutable std::vector<std::unique_ptr<WorkerThread>> threads_;
  Owned<event_base, event_base_free> base_;
  std::unique_ptr<AdminServer> admin_;
  std::vector<Owned<event, event_free>> events_;
  Owned<event, event_free> tick_;
};

}  // namespace hat
