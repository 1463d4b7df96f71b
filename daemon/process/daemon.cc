// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/daemon.h"

#include <glog/logging.h>
#include <sys/resource.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <filesystem>
#include <random>

#include "base/nearest_word.h"
#include "daemon/process/service_manager.h"
#include "daemon/process/unix_time.h"

namespace hat {
namespace {

constexpr timeval kWatchInterval{1, 0};  // how often to check files for changes
constexpr timeval kKeepInterval{10, 0};  // how often to keep what was learned
constexpr std::array kSignals = {SIGHUP, SIGTERM, SIGINT, SIGUSR2};

// Raises the soft limit of descriptors to the hard limit: each connection needs a descriptor, and
// systemd and shells often set a low soft limit.
void raise_descriptor_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

std::unique_ptr<Calibrator> make_calibrator(const std::shared_ptr<const NodeConfig>& node,
                                            const OpenedRdma& rdma) {
  if (!rdma.host) return nullptr;
  const std::string& name = rdma.host->fabric_name();
  const auto open = [node, name] { return open_fabric(node->fabric, name); };
  return std::make_unique<Calibrator>(node->node, rdma.what, open);
}

}  // namespace

Result<Daemon::Sockets> Daemon::open_sockets(NodeConfig& node,
                                             daemon::InheritedSockets& inherited) {
  Sockets sockets;
  for (EndpointConfig& endpoint : node.endpoints) {
    HAT_TRY(ListenSocket socket,
            ListenSocket::adopt_or_open(inherited, endpoint.listen, endpoint.mode, endpoint.group));
    endpoint.listen = socket.address();
    sockets.endpoints.push_back(std::make_shared<ListenSocket>(std::move(socket)));
  }
  if (node.link.listen) {
    HAT_TRY(ListenSocket socket, ListenSocket::adopt_or_open(inherited, *node.link.listen));
    node.link.listen = socket.address();
    sockets.link.emplace(std::move(socket));
  }
  if (node.admin.listen) {
    HAT_TRY(ListenSocket socket, ListenSocket::adopt_or_open(inherited, *node.admin.listen));
    node.admin.listen = socket.address();
    sockets.admin_http.emplace(std::move(socket));
  }
  if (!node.admin.socket.empty()) {
    const Address address{Address::Kind::kUnix, "", 0, node.admin.socket};
    HAT_TRY(ListenSocket socket, ListenSocket::adopt_or_open(inherited, address));
    sockets.admin_socket.emplace(std::move(socket));
  }
  if (const std::string path = TakeoverOffer::path(node); !path.empty()) {
    const Address address{Address::Kind::kUnix, "", 0, path};
    HAT_TRY(ListenSocket socket,
            ListenSocket::adopt_or_open(inherited, address, 0600, "", SOCK_SEQPACKET));
    sockets.offer.emplace(std::move(socket));
  }
  return sockets;
}

Result<std::unique_ptr<Daemon>> Daemon::open(const std::string& config_file,
                                             Configuration configuration,
                                             daemon::InheritedSockets inherited,
                                             std::unique_ptr<Takeover> takeover) {
  raise_descriptor_limit();
  NodeConfig node = configuration.node;
  HAT_TRY(Sockets sockets, open_sockets(node, inherited));
  for (const std::string& left : inherited.left()) {
    LOG(WARNING) << left << ": was handed over and is closed, because " << config_file
                 << " does not name this address";
  }
  std::vector<std::unique_ptr<WorkerThread>> threads;
  for (const WorkerPlacement& placement : configuration.workers) {
    HAT_TRY(std::unique_ptr<WorkerThread> thread, WorkerThread::open(node.fabric, placement));
    threads.push_back(std::move(thread));
  }
  return std::unique_ptr<Daemon>(new Daemon(config_file, std::move(configuration), std::move(node),
                                            std::move(sockets), std::move(threads),
                                            std::move(takeover)));
}

Daemon::Daemon(std::string config_file, Configuration configuration, NodeConfig node,
               Sockets sockets, std::vector<std::unique_ptr<WorkerThread>> threads,
               std::unique_ptr<Takeover> takeover)
    : config_file_(std::move(config_file)),
      node_(std::make_shared<const NodeConfig>(std::move(node))),
      start_unix_time_(unix_now()),
      metrics_(configuration.workers.size()),
      kept_(KeptLearning::file_of(*node_), node_->node),
      sockets_(std::move(sockets)),
      threads_(std::move(threads)),
      base_(event_base_new()),
      discovery_(std::make_unique<Discovery>(make_dns_resolver(base_.get()))),
      taking_over_{.channel = std::move(takeover)} {
  applied_.named = named_with(configuration.node);
  applied_.routes = make_routes(1, configuration, applied_.named);
  applied_.node = applied_.read = std::move(configuration.node);
  look_up(*node_);
  node_ = for_workers(*node_, *node_);
  applied_.tls = configuration.tls;
  applied_.numa = std::move(configuration.numa);
  for (const NamedProfile& profile : configuration.profiles) {
    if (const auto why = why_unused(profile, rdma_fabric())) LOG(WARNING) << *why;
  }
  applied_.last_reload.unix_time = start_unix_time_;
  applied_.fingerprint = applied_.seen_fingerprint = configuration.fingerprint;
  calibrator_ = make_calibrator(node_, threads_.front()->rdma());
  metrics_.access_log.set(node_->access_log);
  metrics_.spans = make_span_log(*node_, threads_.size());
  std::random_device random;
  const uint64_t generation = (uint64_t{random()} << 32) | random();
  for (size_t i = 0; i < threads_.size(); ++i) {
    metrics_.workers.push_back(std::make_unique<WorkerCounters>());
    metrics_.worker_views.push_back(metrics_.workers.back().get());
    threads_[i]->make_worker({.index = i,
                              .generation = generation,
                              .seed = static_cast<uint32_t>(random()),
                              .node = node_,
                              .routes = applied_.routes,
                              .answerer = calibrator_.get(),
                              .counters = metrics_.workers.back().get(),
                              .access_log = &metrics_.access_log.of_worker(i),
                              .detached = &detached_,
                              .spans = metrics_.spans ? metrics_.spans->of_worker(i) : nullptr,
                              .keeps_links = i == 0},
                             applied_.tls);
  }
}

Daemon::~Daemon() = default;

std::shared_ptr<const RoutingTable> Daemon::make_routes(uint64_t generation,
                                                        const Configuration& configuration,
                                                        const Named& named) {
  engine::HostFacts host = engine::this_host();
  const OpenedRdma& rdma = threads_.front()->rdma();
  host.rdma = rdma.host != nullptr;
  host.rdma_absent_reason = rdma.what;
  // The fabric `loop` uses no device: all cores are equally near.
  if (fabric_kind() == "verbs") {
    host.nic_cores = count_nic_cores(configuration.host, host.cores);
  }
  add_costs(configuration.profiles, rdma_fabric(), host);
  return std::make_shared<const RoutingTable>(
      generation, configuration.manifest, named.services, host, metrics_.functions, named.serves,
      configuration.node.limits.call_timeout, named.retired);
}

std::string Daemon::rdma_fabric() const {
  const engine::RdmaHost* host = threads_.front()->rdma().host.get();
  return host == nullptr ? "" : host->fabric_name();
}

bool Daemon::run() {
  // Blocks these signals while the workers start, so that the workers inherit the mask and only
  // this thread handles signals.
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : kSignals) sigaddset(&ours, signal);
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  for (auto& thread : threads_) thread->start();
  pthread_sigmask(SIG_UNBLOCK, &ours, nullptr);

  for (const int signal : kSignals) {
    events_.emplace_back(event_new(base_.get(), signal, EV_SIGNAL | EV_PERSIST, on_signal, this));
    event_add(events_.back().get(), nullptr);
  }
  start_sampling();
  tick_.reset(event_new(base_.get(), -1, EV_PERSIST, on_tick, this));
  if (taking_over_.channel) {
    phase_ = Phase::kStarting;
    ready_report_ = ReadyReport::kNotYet;
    drain_until_ =
        std::chrono::steady_clock::now() +
        std::min<std::chrono::nanoseconds>(2 * node_->limits.connect_timeout, Takeover::kLinksTime);
    event_add(tick_.get(), &kDrainInterval);
  } else {
    serve();
  }
  event_base_dispatch(base_.get());
  // Blocks the signals during shutdown: a signal now would kill the process, which would look like
  // a crash.
  pthread_sigmask(SIG_BLOCK, &ours, nullptr);
  // Handles a signal that arrived while the event loop ended.
  if (has_given_way()) event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  keep_learned();
  admin_.reset();
  if (calibrator_) calibrator_->stop();
  threads_.clear();
  LOG(INFO) << "node " << node_->node << " has stopped";
  return !taking_over_.refused;
}

void Daemon::serve() {
  phase_ = Phase::kServing;
  begin_with_kept();
  accept();
  offer_takeover();
  log_start();
  report_when_ready();
  start_watchdog();
}

void Daemon::offer_takeover() {
  giving_way_.offer.reset();
  if (!sockets_.offer) return;
  const auto all = sockets_.all();
  TakeoverOfferEvents& events = *this;
  giving_way_.node = node_;
  giving_way_.offer = std::make_unique<TakeoverOffer>(
      base_.get(), *giving_way_.node, *sockets_.offer,
      std::vector<const ListenSocket*>(all.begin(), all.end()), events);
}

void Daemon::start_accepting() {
  for (auto& thread : threads_) {
    thread->start_accepting(sockets_.endpoints, sockets_.link, applied_.numa);
  }
}

void Daemon::accept() {
  start_accepting();
  admin_ = std::make_unique<AdminServer>(base_.get(), *this,
                                         sockets_.admin_http ? &*sockets_.admin_http : nullptr,
                                         sockets_.admin_socket ? &*sockets_.admin_socket : nullptr);
  event_add(tick_.get(), &kWatchInterval);
  if (serving_file_ != nullptr) serving_file_->show();
}

void Daemon::log_start() const {
  for (const auto& endpoint : node_->endpoints) {
    LOG(INFO) << "endpoint " << to_string(endpoint.listen) << " offers " << endpoint.service;
    if (!endpoint.listen.is_path()) {
      LOG(WARNING) << "endpoint " << to_string(endpoint.listen)
                   << ": every local user may call, because TCP does not identify users; a unix: "
                      "or shm: address can restrict access";
    }
  }
  if (applied_.tls) {
    LOG(INFO) << "links have TLS 1.3; this node's certificate, "
              << applied_.tls->certificate().subject << ", is good until "
              << utc_text(applied_.tls->certificate().not_after);
  } else if (node_->link.listen || !node_->peers.empty()) {
    LOG(WARNING) << "links are insecure: peers are not authenticated and nothing is encrypted; "
                    "set `link.tls` in "
                 << config_file_ << " to change that";
  }
  if (!sockets_.offer) {
    LOG(INFO) << "takeover: a new hatrpcd cannot take over from this one, because `admin.socket` "
                 "is not set or is longer than 98 bytes";
  }
  if (node_->admin.listen) LOG(INFO) << "admin http at " << to_string(*node_->admin.listen);
  LOG(INFO) << "fabric " << fabric();
  for (size_t i = 0; i < threads_.size(); ++i) {
    const WorkerPlacement& placement = threads_[i]->placement();
    if (placement.cores.empty()) continue;
    LOG(INFO) << "worker " << i << " is bound to "
              << (placement.cores.size() == 1 ? "core " : "cores ") << cores_text(placement.cores)
              << (placement.node ? ", NUMA node " + std::to_string(*placement.node) : "");
  }
  LOG(INFO) << "node " << node_->node << " runs with " << threads_.size() << " worker(s)";
}

void Daemon::on_signal(evutil_socket_t signal, short, void* self) {
  auto& daemon = *static_cast<Daemon*>(self);
  if (signal == SIGHUP) {
    (void)daemon.reload(false);  // reload() logs the result
    return;
  }
  if (signal == SIGUSR2) return daemon.start_successor();
  if (!daemon.draining()) return daemon.drain();
  LOG(WARNING) << "exiting at once: received a second signal";
  event_base_loopbreak(daemon.base_.get());
}

void Daemon::on_tick(evutil_socket_t, short, void* self) {
  auto& daemon = *static_cast<Daemon*>(self);
  daemon.report_when_ready();
  daemon.detached_.sweep(std::chrono::steady_clock::now());
  // Drains if drain() was called during kGivingWay and this phase has ended. The function that ends
  // the phase must not drain: it is a callback of the TakeoverOffer, which drain() destroys.
  if (daemon.drains_next_ && daemon.phase_ != Phase::kGivingWay) {
    daemon.drains_next_ = false;
    return daemon.drain();
  }
  switch (daemon.phase_) {
    case Phase::kStarting:
      daemon.follow_names();
      return daemon.say_ready_if_ready();
    case Phase::kReady:
    case Phase::kGivingWay:
      return;
    case Phase::kServing:
      daemon.check_for_changes();
      return daemon.follow_names();
    case Phase::kHandingOver:
      return daemon.leave_if_handed_over();
    case Phase::kDraining:
      return daemon.leave_if_drained();
  }
}

// --- Notifications to the service manager ---

// Reports to systemd that the daemon is ready once it serves: its addresses are bound, its
// manifests are loaded, and every worker's event loop runs. After a takeover, the unit was ready
// already, and only its STATUS= changes.
void Daemon::report_when_ready() {
  if (ready_report_ != ReadyReport::kDue || phase_ != Phase::kServing || !alive()) return;
  ready_report_ = ReadyReport::kSent;
  service_manager::notify_ready(state());
}

std::string Daemon::state() const {
  if (draining()) return "draining: finishing the calls in flight";
  std::string routes = "node " + node_->node + ": routes of generation " +
                       std::to_string(applied_.routes->generation());
  if (applied_.last_reload.successful) return routes;
  return routes +
         " stay in use, because the last reload was refused: " + applied_.last_reload.error;
}

void Daemon::start_watchdog() {
  constexpr int kChecksPerTime = 4;
  const auto time = service_manager::watchdog_time();
  if (!time) return;
  std::vector<Watchdog::Loop> loops;
  for (size_t i = 0; i < threads_.size(); ++i) {
    loops.push_back(
        {[counters = metrics_.workers[i].get()] { return counters->iterations.value(); },
         [thread = threads_[i].get()] { thread->wake(); }});
  }
  watchdog_.watchdog = std::make_unique<Watchdog>(std::move(loops), service_manager::notify_alive);
  watchdog_.tick.reset(event_new(base_.get(), -1, EV_PERSIST, on_watchdog, this));
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(*time / kChecksPerTime);
  constexpr int64_t kSecond = 1'000'000;
  const timeval interval{us.count() / kSecond, us.count() % kSecond};
  event_add(watchdog_.tick.get(), &interval);
}

void Daemon::on_watchdog(evutil_socket_t, short, void* self) {
  static_cast<Daemon*>(self)->watchdog_.watchdog->check();
}

void Daemon::start_sampling() {
  using std::chrono::microseconds;
  constexpr timeval kInterval{0, microseconds(Observations::kInterval).count()};
  events_.emplace_back(event_new(base_.get(), -1, EV_PERSIST, on_sample, this));
  event_add(events_.back().get(), &kInterval);
}

void Daemon::on_sample(evutil_socket_t, short, void* self) {
  auto& metrics = static_cast<Daemon*>(self)->metrics_;
  metrics.observations.sample(std::chrono::steady_clock::now(), metrics.functions);
}

// --- What was learned ---

void Daemon::begin_with_kept() {
  if (KeptLearning::file_of(*node_).empty() && applied_.routes->learns()) {
    LOG(INFO) << "learned: what is learned is lost when hatrpcd ends, because neither `learned` in "
              << config_file_ << " nor STATE_DIRECTORY in the environment is set";
  }
  const auto kept = kept_.begin();
  for (auto& thread : threads_) {
    thread->ask([kept](Worker& worker) {
      worker.set_kept(kept);
      return true;
    });
  }
  events_.emplace_back(event_new(base_.get(), -1, EV_PERSIST, on_keep_learned, this));
  event_add(events_.back().get(), &kKeepInterval);
}

void Daemon::on_keep_learned(evutil_socket_t, short, void* self) {
  static_cast<Daemon*>(self)->keep_learned();
}

void Daemon::keep_learned() {
  if (!kept_.writes()) return;
  std::vector<LearnedStatus> all;
  if (applied_.routes->learns()) {
    for (LearnedReport& report : learned()) all.push_back(std::move(report.status));
  }
  kept_.save(common_choices(all), *node_, *applied_.routes);
}

// --- Calibration ---

Result<uint64_t> Daemon::calibrate(const std::string& peer) {
  if (peer == node_->node)
    return fail(ErrorCode::kInvalid, "a node cannot calibrate with itself; name a peer");
  if (const auto member = member_of(peer)) return calibrate(*member);
  std::vector<std::string_view> names;
  for (const PeerConfig& one : node_->peers) names.push_back(one.name);
  if (std::ranges::find(names, peer) == names.end()) {
    return fail(ErrorCode::kNotFound, "no peer is called '" + peer + "'" +
                                          did_you_mean(peer, names) +
                                          "; `hatctl status` lists them");
  }
  if (!calibrator_) {
    return fail(ErrorCode::kUnsupported,
                "this node has no RDMA fabric (" + threads_.front()->rdma().what +
                    "): calls go over TCP, and there is nothing to calibrate");
  }
  if (draining()) return fail(ErrorCode::kUnavailable, "node " + node_->node + " is shutting down");
  // Uses the link of the first worker, the only one that keeps its links without clients.
  return calibrator_->measure(
      peer,
      [worker = threads_.front().get(), peer](
          const engine::CostOpen& open,
          const std::shared_ptr<engine::CalibrationJob>& job) -> Result<void> {
        const auto begun = worker->ask([=](Worker& own) { return own.calibrate(peer, open, job); });
        return begun ? *begun
                     : fail(ErrorCode::kUnavailable,
                            "the worker that owns the link to this peer does not respond");
      });
}

CalibrationReport Daemon::calibration() const {
  return calibrator_ ? calibrator_->last() : CalibrationReport{};
}

// --- The end ---

void Daemon::drain() {
  if (draining()) return;
  if (phase_ == Phase::kStarting || phase_ == Phase::kReady) {
    LOG(INFO) << "takeover: abandoned; the previous hatrpcd continues to serve";
    event_base_loopbreak(base_.get());
    return;
  }
  if (phase_ == Phase::kGivingWay) {  // this phase lasts some seconds at most
    LOG(INFO) << "takeover: received an order to stop; waiting until the new hatrpcd serves or has "
                 "failed";
    drains_next_ = true;
    return;
  }
  phase_ = Phase::kDraining;
  if (serving_file_ != nullptr) serving_file_->hide();
  giving_way_.offer.reset();
  drain_until_ = std::chrono::steady_clock::now() + node_->limits.drain_timeout;
  service_manager::notify_stopping(state());
  LOG(INFO) << "draining: accepting no new connections, finishing the calls in flight";
  bool all_stopped = true;
  for (auto& thread : threads_) {
    all_stopped &= thread->stop_accepting();
    thread->ask([](Worker& worker) {
      worker.begin_drain();
      return true;
    });
  }
  // Closes the sockets so that new clients are refused at once, and do not wait in the kernel's
  // accept queue.
  if (all_stopped) {
    sockets_.endpoints.clear();
    sockets_.link.reset();
    sockets_.offer.reset();
  }
  event_add(tick_.get(), &kDrainInterval);
}

void Daemon::leave_if_drained() {
  give_server_connections();
  const bool drained = std::ranges::all_of(threads_, [](auto& thread) {
    return thread->ask([](Worker& worker) { return worker.drained(); }).value_or(false);
  });
  const bool late = std::chrono::steady_clock::now() >= drain_until_;
  const bool gives = (giving_way_.next || detached_.has_more_to_give()) && detached_.size() != 0;
  if ((!drained || gives) && !late) return;
  if (!drained)
    LOG(WARNING) << "limits.drain_timeout has passed: the calls still in flight are cut off";
  event_base_loopbreak(base_.get());
}

}  // namespace hat
