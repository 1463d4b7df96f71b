// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon.h: the running daemon: its workers, its admin server, reloads, and its
// shutdown. daemon_reload.cc has the reloads, and daemon_takeover.cc the takeover, from the
// predecessor and by the successor.
//
// The daemon notifies systemd when it is ready, reloads or stops, and regularly that it is alive.
//
// Thread   Only the main thread uses this class.
#pragma once

#include <event2/event.h>
#include <sys/time.h>

#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "base/owned.h"
#include "daemon/admin/admin.h"
#include "daemon/admin/control.h"
#include "daemon/configuration/configuration.h"
#include "daemon/discovery/discovery.h"
#include "daemon/process/access_log_file.h"
#include "daemon/process/calibrator.h"
#include "daemon/process/kept_learning.h"
#include "daemon/process/serving_file.h"
#include "daemon/process/span_log.h"
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
  // Opens every socket, or takes the inherited socket with the same address, so that errors occur
  // before anything runs. `takeover` is the connection to the predecessor; null if there is none.
  static Result<std::unique_ptr<Daemon>> open(const std::string& config_file,
                                              Configuration configuration,
                                              daemon::InheritedSockets inherited,
                                              std::unique_ptr<Takeover> takeover);
  ~Daemon() override;

  // Sets the file that exists while this process serves the node. Must be called before run().
  // `file` must outlive the daemon.
  void show_serving_in(ServingFile& file) { serving_file_ = &file; }

  // Runs until the daemon is drained, has handed its connections over, or receives a second signal
  // to stop. Returns false if it could not take over; the predecessor then continues to serve.
  bool run();
  // Returns true if a successor has taken over and no signal asked this process to stop. Call it
  // after run().
  bool has_given_way() const { return phase_ == Phase::kHandingOver; }

  // --- Control ---
  const NodeConfig& node() const override { return *node_; }
  std::string config_file() const override;
  std::vector<std::string> manifest_files() const override;
  std::shared_ptr<const RoutingTable> routes() const override { return applied_.routes; }
  MetricsRegistry& functions() override { return metrics_.functions; }
  const Observations& observations() const override { return metrics_.observations; }
  const std::vector<const WorkerCounters*>& workers() const override {
    return metrics_.worker_views;
  }
  std::vector<LinkReport> links() const override;
  WorkersReport<PeerReport> peers(size_t most) const override;
  WorkersReport<AvoidedReport> avoided_peers(size_t most) const override;
  ConnectionsReport connections(ConnectionOrder order, size_t most) const override;
  WorkersReport<WayReport> ways_of(const std::string& service, const std::string& method,
                                   size_t most) const override;
  std::vector<LearnedReport> learned() const override;
  std::vector<SlowCallReport> slowest_calls() const override;
  WorkersReport<UnansweredReport> unanswered_calls(size_t most) const override;
  AccessLogCounts access_log() const override { return metrics_.access_log.counts(); }
  SpanCounts spans() const override;
  std::string fabric() const override;
  std::string fabric_kind() const override;
  std::string fabric_label() const override;
  std::vector<WorkerPlacement> placements() const override;
  const NumaHints& numa_hints() const override { return applied_.numa; }
  std::vector<CertificateReport> certificates() const override;
  double start_unix_time() const override { return start_unix_time_; }
  LastReload last_reload() const override { return applied_.last_reload; }
  std::vector<NameReport> looked_up() const override;
  bool draining() const override { return phase_ == Phase::kDraining; }
  std::vector<std::string> pending() const override;
  bool alive() override;
  Result<ReloadReport> reload(bool dry_run) override;
  void drain() override;
  Result<uint64_t> calibrate(const std::string& peer) override;
  CalibrationReport calibration() const override;

 private:
  enum class Phase : uint8_t {
    kStarting,     // takes over: waits for the links to the peers
    kReady,        // takes over: has reported to the predecessor that it is ready
    kServing,      // accepts connections
    kGivingWay,    // a successor is ready; waits until the successor accepts connections
    kHandingOver,  // the successor accepts connections, and gets the existing ones
    kDraining,
  };
  struct Sockets {
    // Shared with the workers, which can still listen on a socket that a reload has removed.
    std::vector<std::shared_ptr<ListenSocket>> endpoints;
    std::optional<ListenSocket> link;
    std::optional<ListenSocket> admin_http;
    std::optional<ListenSocket> admin_socket;
    std::optional<ListenSocket> offer;  // the successor connects to this socket

    std::vector<ListenSocket*> all();
    void close();
  };
  struct Metrics {
    explicit Metrics(size_t worker_count)
        : functions(worker_count),
          access_log(worker_count, std::random_device()()),
          observations(std::chrono::steady_clock::now()) {}

    MetricsRegistry functions;
    AccessLogFile access_log;  // has calls whose counters are in `functions`
    Observations observations;
    std::vector<std::unique_ptr<WorkerCounters>> workers;
    std::vector<const WorkerCounters*> worker_views;  // of `workers`
    std::unique_ptr<SpanLog> spans;  // workers use it; null if the node has no key `tracing`
  };
  // The services and servers of this configuration and of earlier ones, which connections that
  // exist can still use.
  struct Named {
    std::vector<std::string> services;  // of the configuration in use
    std::vector<std::string> retired;   // only of earlier ones
    std::vector<ServedConfig> serves;
  };
  // The configuration in use, and fingerprints of its files.
  struct Applied {
    // As in its files: node_ has the ports that the kernel chose, and addresses in place of names.
    NodeConfig node;
    Named named;
    std::shared_ptr<const RoutingTable> routes;
    std::shared_ptr<const TlsContext> tls;  // null if links do not use TLS
    NumaHints numa;
    LastReload last_reload;
    NodeConfig read;                // as the last reload read it, whether or not it was applied
    uint64_t fingerprint = 0;       // of the files that the last reload read
    uint64_t seen_fingerprint = 0;  // of the files at the last check for changes
    bool is_deferred = false;       // the last reload was refused because of a takeover
  };
  // Whether READY=1 was sent to systemd. The transitions are kNotYet ──▶ kDue ──▶ kSent.
  enum class ReadyReport : uint8_t {
    kNotYet,  // this process takes over, and systemd still watches the predecessor
    kDue,
    kSent,
  };
  struct WatchdogTicks {
    std::unique_ptr<Watchdog> watchdog;  // null if systemd does not expect WATCHDOG=1
    Owned<event, event_free> tick;
  };
  struct TakingOver {
    std::shared_ptr<const NodeConfig> node;  // to which `channel` refers
    std::unique_ptr<Takeover> channel;       // null if there is no predecessor
    uint64_t connections = 0;                // received from the predecessor
    bool refused = false;
    bool complete = false;  // the predecessor has exited
  };
  struct GivingWay {
    std::vector<std::string> paths;   // unix sockets whose path changed owner in the takeover
    std::shared_ptr<Successor> next;  // gets the detached connections once all peers use it
    TimePoint next_until{};           // `next` gets them at this time at the latest
    SuccessorProcess process;         // the successor that this process started; pid is 0 if none
    Owned<event, event_free> process_end;
    std::shared_ptr<const NodeConfig> node;  // to which `offer` refers
    std::unique_ptr<TakeoverOffer> offer;    // null if no successor can take over now
  };
  static constexpr std::chrono::seconds kTurnTime{1};  // the longest wait for peers to use `next`
  static constexpr timeval kDrainInterval{0, 20'000};  // 20 ms: how often a phase's end is checked

  static Result<Sockets> open_sockets(NodeConfig& node, daemon::InheritedSockets& inherited);
  Daemon(std::string config_file, Configuration configuration, NodeConfig node, Sockets sockets,
         std::vector<std::unique_ptr<WorkerThread>> threads, std::unique_ptr<Takeover> takeover);

  static void on_signal(evutil_socket_t signal, short, void* self);
  static void on_tick(evutil_socket_t, short, void* self);
  static void on_watchdog(evutil_socket_t, short, void* self);
  static void on_sample(evutil_socket_t, short, void* self);
  static void on_keep_learned(evutil_socket_t, short, void* self);
  void serve();
  void accept();
  void offer_takeover();
  void start_accepting();
  void log_start() const;
  void report_when_ready();
  void start_watchdog();
  void start_sampling();
  void begin_with_kept();
  void keep_learned();
  std::string state() const;
  std::optional<std::string> member_of(const std::string& group) const;
  void leave_if_drained();

  // --- Taking over, in daemon_takeover.cc ---
  void say_ready_if_ready();
  void on_go(const std::vector<std::string>& owned_paths) override;
  void on_refused(const std::string& why) override;
  void on_connection(TakenConnection connection) override;
  void on_server_connection(DetachedConnection connection) override;
  void on_predecessor_left() override;
  // --- Giving way, in daemon_takeover.cc ---
  std::vector<std::string> on_successor_ready(int pid,
                                              const std::vector<std::string>& taken) override;
  void on_successor_failed(const std::string& why) override;
  void on_successor_serving(int pid, std::shared_ptr<Successor> successor) override;
  void on_successor_gone(const std::string& why) override;
  void give_server_connections();
  void leave_if_handed_over();
  void start_successor();
  static void on_successor_end(evutil_socket_t, short, void* self);

  // --- Names, in daemon_names.cc ---
  void look_up(const NodeConfig& node);
  std::shared_ptr<const NodeConfig> for_workers(const NodeConfig& node,
                                                const NodeConfig& listening) const;
  void follow_names();

  // --- Reload, in daemon_reload.cc ---
  void check_for_changes();
  Result<ReloadReport> try_reload(bool dry_run);
  Result<std::vector<std::string>> node_changes_of(const Configuration& fresh) const;
  Result<std::vector<std::shared_ptr<ListenSocket>>> sockets_for(const NodeConfig& next) const;
  bool in_takeover() const;
  void begin_to_apply(const Configuration& fresh, std::shared_ptr<const RoutingTable> routes);
  void set_routes();
  void set_node(const Configuration& fresh, std::vector<std::shared_ptr<ListenSocket>> endpoints);
  Named named_with(const NodeConfig& next) const;
  std::shared_ptr<const RoutingTable> make_routes(uint64_t generation,
                                                  const Configuration& configuration,
                                                  const Named& named);
  // Returns "verbs" or "loop"; empty if this node has no RDMA fabric.
  std::string rdma_fabric() const;

  const std::string config_file_;
  std::shared_ptr<const NodeConfig> node_;
  const double start_unix_time_;
  Metrics metrics_;
  Applied applied_;
  KeptLearning kept_;
  ReadyReport ready_report_ = ReadyReport::kDue;
  mutable bool were_links_tried_ = false;  // of all links, since the start
  bool drains_next_ = false;  // drain() was called in kGivingWay: drain when that phase ends
  Phase phase_ = Phase::kServing;
  TimePoint drain_until_{};  // in kStarting: when to stop waiting for links; later: when to stop
                             // draining
  Sockets sockets_;
  bool all_stopped_ = false;                // no worker listens: the sockets may be closed
  ServingFile* serving_file_ = nullptr;     // null if none was set
  std::unique_ptr<Calibrator> calibrator_;  // null without RDMA; workers use it to answer peers
  DetachedConnections detached_;  // upstream connections of all workers that wait for their streams
  mutable std::vector<std::unique_ptr<WorkerThread>> threads_;
  Owned<event_base, event_base_free> base_;
  std::unique_ptr<Discovery> discovery_;
  std::unique_ptr<AdminServer> admin_;
  std::vector<Owned<event, event_free>> events_;
  Owned<event, event_free> tick_;
  WatchdogTicks watchdog_;
  // Declared after base_: their destructors free events of base_.
  TakingOver taking_over_;
  GivingWay giving_way_;
};

}  // namespace hat
