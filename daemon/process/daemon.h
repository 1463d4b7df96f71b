// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon.h: the running daemon: its workers, its admin server, its reloads and its
// end; and how it takes over from the one before it and gives way to the next (daemon_takeover.cc).
//
// It tells the service manager of each: when it is ready, while it reloads, that it is alive, and
// that it stops.
//
// Thread   the main thread's.
#pragma once

#include <event2/event.h>
#include <sys/time.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/owned.h"
#include "daemon/admin/admin.h"
#include "daemon/admin/control.h"
#include "daemon/configuration/configuration.h"
#include "daemon/process/calibrator.h"
#include "daemon/process/serving_file.h"
#include "daemon/process/watchdog.h"
#include "daemon/process/worker_thread.h"
#include "daemon/proxy/inbound/detached_connections.h"
#include "daemon/reactor/inherited_sockets.h"
#include "daemon/takeover/successor_process.h"
#include "daemon/takeover/takeover.h"
#include "daemon/takeover/takeover_offer.h"

namespace hat {

class Daemon final : public Control, private TakeoverEvents, private TakeoverOfferEvents {
 public:
  // Opens every socket, or takes the inherited one of its address, so that what fails fails before
  // anything runs. `takeover`: from whom this one takes over; null: from nobody.
  static Result<std::unique_ptr<Daemon>> open(const std::string& config_file,
                                              Configuration configuration,
                                              daemon::InheritedSockets inherited,
                                              std::unique_ptr<Takeover> takeover);
  ~Daemon() override;

  // Before run(): what shows that it is this process that serves; lives as long as the daemon.
  void show_serving_in(ServingFile& file) { serving_file_ = &file; }

  // Serves until drained, or handed over, or until a second signal. False: it never came to serve,
  // since the daemon that it should take over from goes on.
  bool run();
  // After run(): another one has taken over, and nobody has asked this one to leave.
  bool has_given_way() const { return phase_ == Phase::kHandingOver; }

  // Control.
  const NodeConfig& node() const override { return *node_; }
  std::string config_file() const override;
  std::shared_ptr<const RoutingTable> routes() const override { return routes_; }
  MetricsRegistry& functions() override { return functions_; }
  const std::vector<const WorkerCounters*>& workers() const override { return counter_views_; }
  std::vector<LinkReport> links() const override;
  std::string fabric() const override;
  std::vector<CertificateReport> certificates() const override;
  double start_unix_time() const override { return start_unix_time_; }
  LastReload last_reload() const override { return last_reload_; }
  bool draining() const override { return phase_ == Phase::kDraining; }
  std::vector<std::string> pending() const override;
  bool alive() override;
  Result<ReloadReport> reload(bool dry_run) override;
  void drain() override;
  Result<uint64_t> calibrate(const std::string& peer) override;
  CalibrationReport calibration() const override;

 private:
  enum class Phase : uint8_t {
    kStarting,     // to take over: the links to the peers are being built
    kReady,        // said so to the one before
    kServing,      // accepts
    kGivingWay,    // told the next one to go, and waits until it accepts
    kHandingOver,  // the next one accepts; connections go there
    kDraining,
  };
  struct Sockets {
    std::vector<ListenSocket> endpoints;
    std::optional<ListenSocket> link;
    std::optional<ListenSocket> admin_http;
    std::optional<ListenSocket> admin_socket;
    std::optional<ListenSocket> offer;  // for the next one

    std::vector<ListenSocket*> all();
    void close();
  };
  static constexpr std::chrono::seconds kTurnTime{1};  // for peers to hear of the successor
  static constexpr timeval kDrainInterval{0, 20'000};  // how often a phase's end is looked for

  static Result<Sockets> open_sockets(NodeConfig& node, daemon::InheritedSockets& inherited);
  Daemon(std::string config_file, Configuration configuration, Sockets sockets,
         std::vector<std::unique_ptr<WorkerThread>> threads, std::unique_ptr<Takeover> takeover);

  static void on_signal(evutil_socket_t signal, short, void* self);
  static void on_tick(evutil_socket_t, short, void* self);
  static void on_watchdog(evutil_socket_t, short, void* self);
  void serve();
  void accept();
  void log_start() const;
  void tell_when_ready();
  void start_watchdog();
  std::string state() const;
  void look_for_changes();
  void leave_if_drained();

  // Taking over, in daemon_takeover.cc.
  void say_ready_if_ready();
  void on_go(const std::vector<std::string>& owned_paths) override;
  void on_refused(const std::string& why) override;
  void on_connection(TakenConnection connection) override;
  void on_server_connection(DetachedConnection connection) override;
  void on_predecessor_left() override;
  // Giving way.
  std::vector<std::string> on_successor_ready(int pid,
                                              const std::vector<std::string>& taken) override;
  void on_successor_failed(const std::string& why) override;
  void on_successor_serving(int pid, std::shared_ptr<Successor> successor) override;
  void on_successor_gone(const std::string& why) override;
  void give_server_connections();
  void leave_if_handed_over();
  void start_successor();
  static void on_successor_end(evutil_socket_t, short, void* self);

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
  bool told_ready_ = false;
  bool is_main_process_ = true;  // a successor tells systemd of itself when the old one has left
  bool drains_next_ = false;     // drain() was called while kGivingWay: at the next tick
  Phase phase_ = Phase::kServing;
  TimePoint drain_until_{};  // kStarting: until when links may be built
  Sockets sockets_;
  bool all_stopped_ = false;  // no worker listens, so that the sockets may be closed
  bool refused_ = false;
  ServingFile* serving_file_ = nullptr;   // null: nobody looks
  std::vector<std::string> given_paths_;  // of unix sockets that changed their owner
  uint64_t taken_connections_ = 0;
  std::shared_ptr<Successor> next_;  // of connections to servers, once peers have turned to it
  TimePoint next_until_{};           // not later than that
  SuccessorProcess successor_;       // that this process has started; pid 0: none
  std::unique_ptr<Calibrator> calibrator_;  // null: no RDMA; its workers' answerer
  DetachedConnections detached_;            // of all workers
  mutable std::vector<std::unique_ptr<WorkerThread>> threads_;
  Owned<event_base, event_base_free> base_;
  std::unique_ptr<AdminServer> admin_;
  std::vector<Owned<event, event_free>> events_;
  Owned<event, event_free> tick_;
  std::unique_ptr<Watchdog> watchdog_;  // null: nobody waits for signs of life
  Owned<event, event_free> watchdog_tick_;
  Owned<event, event_free> successor_end_;
  std::unique_ptr<Takeover> takeover_;    // null: from nobody
  std::unique_ptr<TakeoverOffer> offer_;  // null: nobody can take over now
};

}  // namespace hat
