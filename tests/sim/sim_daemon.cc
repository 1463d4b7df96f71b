// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_daemon.h"

#include <glog/logging.h>

#include <algorithm>
#include <numeric>

#include "daemon/metrics/function_totals.h"
#include "engine/fabric/loop/loop_fabric.h"

namespace hat::sim {

SimDaemon::SimDaemon(SimNetwork& network, NodeConfig node, Manifest manifest,
                     std::optional<engine::Faults> faults, uint64_t seed)
    : network_(network),
      host_(network, node.node, seed),
      node_(std::make_shared<NodeConfig>(std::move(node))),
      serves_(node_->serves),
      manifest_(std::move(manifest)),
      faults_(faults),
      random_(seed) {}

void SimDaemon::start() {
  network_.say(node_->node + " starts");
  by_rdma_before_ = calls_by_rdma();
  retries_before_ = retries();
  resumes_before_ = resumes();
  counters_ = std::make_unique<WorkerCounters>();
  metrics_ = std::make_unique<MetricsRegistry>(1);
  detached_ = std::make_unique<DetachedConnections>();
  if (faults_) {
    engine::Faults faults = *faults_;
    faults.seed += generation_;  // a restarted daemon gets different faults
    auto fabric =
        engine::make_faulty(engine::open_loop_fabric_with(random_.next()).value(), faults);
    auto made = engine::RdmaHost::create(
        host_, std::move(fabric), {.arena = {.bytes = {8 << 20, 8 << 20, 4 << 20}}, .spin = {}});
    CHECK(made.has_value()) << made.error().message;
    rdma_ = std::move(*made);
  }
  ++generation_;
  worker_ = std::make_unique<Worker>(
      host_, Worker::Setup{.generation = generation_,
                           .seed = static_cast<uint32_t>(random_.next()),
                           .node = node_,
                           .routes = make_routes(),
                           .counters = counters_.get(),
                           .detached = detached_.get(),
                           .rdma = rdma_.get(),
                           .kept = std::make_shared<const LearnedChoices>(kept_),
                           .keeps_links = keeps_links_ || random_.percent(50)});
  draining_ = false;
  for (size_t i = 0; i < node_->endpoints.size(); ++i) {
    network_.listen(node_->endpoints[i].listen, host_,
                    [this, i](const auto& accept) { worker_->accept_client(i, accept); });
  }
  if (node_->link.listen) {
    network_.listen(*node_->link.listen, host_,
                    [this](const auto& accept) { worker_->accept_link(accept); });
  }
}

std::shared_ptr<const RoutingTable> SimDaemon::make_routes() {
  const engine::HostFacts host{8, 8, faults_.has_value(), "none is here"};
  return std::make_shared<RoutingTable>(generation_, manifest_, std::vector<std::string>{}, host,
                                        *metrics_, serves_);
}

void SimDaemon::reload(const std::function<void(NodeConfig&)>& change) {
  if (!running() || draining_) return;
  network_.say(node_->node + " reloads");
  auto next = std::make_shared<NodeConfig>(*node_);
  change(*next);
  serves_.insert(serves_.end(), next->serves.begin(), next->serves.end());
  node_ = std::move(next);
  host_.post([this, node = node_, routes = make_routes(), generation = generation_] {
    if (running() && generation == generation_) worker_->set_node(node, routes);
  });
}

void SimDaemon::kill() {
  trials_before_ += trials_now();
  if (!running()) return;
  for (const auto& [function, choice] : common_choices(worker_->learned_status())) {
    kept_[function] = choice;
  }
  network_.say(node_->node + " dies");
  for (const EndpointConfig& endpoint : node_->endpoints) network_.stop_listening(endpoint.listen);
  if (node_->link.listen) network_.stop_listening(*node_->link.listen);
  worker_.reset();
  rdma_.reset();
}

void SimDaemon::drain() {
  if (!running() || draining_) return;
  network_.say(node_->node + " drains");
  draining_ = true;
  for (const EndpointConfig& endpoint : node_->endpoints) network_.stop_listening(endpoint.listen);
  if (node_->link.listen) network_.stop_listening(*node_->link.listen);
  host_.post([this, generation = generation_] {
    if (running() && generation == generation_) worker_->begin_drain();
  });
  leave_if_drained(generation_, network_.now() + node_->limits.drain_timeout);
}

void SimDaemon::leave_if_drained(uint64_t generation, TimePoint until) {
  // The interval at which the real daemon checks its drain (daemon/process/daemon.cc).
  constexpr Duration kDrainInterval = std::chrono::milliseconds(20);
  network_.after(kDrainInterval, [this, generation, until] {
    if (!running() || generation != generation_) return;
    const bool late = network_.now() >= until;
    if (!worker_->drained() && !late) return leave_if_drained(generation, until);
    if (late) ++late_drains_;
    kill();
  });
}

bool SimDaemon::links_are_up() const {
  return running() && std::ranges::all_of(worker_->link_status(), [](const LinkStatus& link) {
           return link.state == engine::LinkState::kUp;
         });
}

uint64_t SimDaemon::trials_now() const {
  uint64_t sum = 0;
  if (worker_ == nullptr) return sum;
  for (const LearnedStatus& learned : worker_->learned_status()) sum += learned.trials;
  return sum;
}

uint64_t SimDaemon::resumes_now() const {
  if (!counters_) return 0;
  uint64_t sum = 0;
  for (const auto& [peer, counts] : counters_->peer_events.all()) {
    sum += counts[static_cast<size_t>(PeerEvent::kResume)];
  }
  return sum;
}

uint64_t SimDaemon::retries_now() const {
  if (!metrics_) return 0;
  uint64_t sum = 0;
  for (FunctionMetrics& function : metrics_->all()) sum += total(function, Side::kClient).retries;
  return sum;
}

uint64_t SimDaemon::calls_by_rdma_now() const {
  if (!metrics_) return 0;
  uint64_t sum = 0;
  for (FunctionMetrics& function : metrics_->all()) {
    for (const WayCount& one : total(function, Side::kClient).ways) {
      if (one.way.request != Carrier::kTcp) sum += one.calls;
    }
  }
  return sum;
}

// Returns what is wrong with the counts of a function's calls by their ways, or "". Each call that
// was sent counts once, when it ends; each fallback is one of the calls over TCP.
static std::string wrong_ways(FunctionMetrics& function) {
  const FunctionTotals totals = total(function, Side::kClient);
  uint64_t ways = 0;
  uint64_t by_tcp = 0;
  for (const auto& [way, calls] : totals.ways) {
    ways += calls;
    if (way.request == Carrier::kTcp) by_tcp += calls;
  }
  uint64_t sent = 0;  // the least number of calls that were sent
  for (const CallOutcome outcome : {CallOutcome::kSuccess, CallOutcome::kDeclaredException,
                                    CallOutcome::kApplicationException, CallOutcome::kOneway}) {
    sent += totals.outcomes[static_cast<size_t>(outcome)];
  }
  const uint64_t fallbacks =
      std::accumulate(totals.fallbacks.begin(), totals.fallbacks.end(), uint64_t{0});
  if (sent <= ways && ways <= totals.started && fallbacks <= by_tcp) return "";
  return function.service + "." + function.method + ": of " + std::to_string(totals.started) +
         " calls, at least " + std::to_string(sent) + " were sent, " + std::to_string(ways) +
         " counted by their ways, " + std::to_string(by_tcp) + " of these over TCP, with " +
         std::to_string(fallbacks) + " fallbacks; ";
}

std::string SimDaemon::not_at_rest() const {
  const auto must_be_none = [this](const char* what, uint64_t value) -> std::string {
    if (value == 0) return "";
    return node_->node + ": " + what + " is " + std::to_string(static_cast<int64_t>(value)) +
           " at rest; ";
  };
  std::string text = must_be_none("connections_open", counters_->connections_open.value()) +
                     must_be_none("buffered_bytes", counters_->buffered_bytes.value());
  for (FunctionMetrics& function : metrics_->all()) {
    if (const std::string wrong = wrong_ways(function); !wrong.empty()) {
      text += node_->node + ": " + wrong;
    }
    for (const Side side : {Side::kClient, Side::kServer}) {
      const FunctionCounters& counters = function.at(side, 0);
      const uint64_t ended =
          std::accumulate(counters.requests.begin(), counters.requests.end(), uint64_t{0},
                          [](uint64_t sum, const Counter& one) { return sum + one.value(); });
      text += must_be_none((function.service + "." + function.method + " calls in flight, " +
                            (side == Side::kClient ? "client side" : "server side"))
                               .c_str(),
                           counters.started.value() - ended);
    }
  }
  return text;
}

}  // namespace hat::sim
