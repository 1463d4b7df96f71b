// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/fleet.h"

#include <algorithm>

#include "base/check.h"

namespace hat::sim {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr size_t kLinkPort = 9465;
constexpr size_t kServerPort = 9001;
constexpr size_t kHotPort = 9099;
constexpr size_t kFirstPeerPort = 9100;
constexpr Duration kTick = microseconds(100);  // the resolution of short times; of long ones 1 %
constexpr Duration kStepMax = seconds(60);     // a step that takes longer has failed

std::string name_of(size_t node) { return "node-" + std::to_string(node); }

Address address_of(size_t node, size_t port) {
  constexpr size_t kHostsPerNet = 250;
  return *parse_address("tcp:10.1." + std::to_string(node / kHostsPerNet) + "." +
                        std::to_string(node % kHostsPerNet + 1) + ":" + std::to_string(port));
}

Manifest manifest() {
  Manifest manifest;
  for (const char* name : {"Fleet", "Hot"}) {
    ServiceSpec service{.name = name};
    service.functions = {{.name = "echo"}};
    service.functions[0].arguments = {
        {.id = 1, .type = {.wire = WireType::kI64}},
        {.id = 2, .type = {.wire = WireType::kString, .is_text = true}}};
    manifest.services.push_back(service);
  }
  return manifest;
}

}  // namespace

Fleet::Fleet(const FleetPlan& plan)
    : plan_(plan), manifest_(manifest()), network_(plan.seed), book_(network_), random_(plan.seed) {
  CHECK_LE(plan.peers + 2, plan.nodes) << "a node has itself and the hot node not as peers";
  book_.allow({"link_lost", "peer_unreachable"});
  for (size_t i = 0; i <= plan.nodes; ++i) add_node(i);
}

void Fleet::add_node(size_t number) {
  Path path;
  path.latency_min = microseconds(20);
  path.latency_max = microseconds(200);
  network_.set_path(address_of(number, kLinkPort), path);
  servers_.push_back(std::make_unique<SimServer>(network_, book_, address_of(number, kServerPort),
                                                 true, random_.next()));
  servers_.back()->start();
  daemons_.push_back(std::make_unique<SimDaemon>(network_, configuration(number), manifest_,
                                                 std::nullopt, random_.next()));
  daemons_.back()->keep_links();
}

// The new hot node, which has the last number, calls no one. The first hot node is node 0.
NodeConfig Fleet::configuration(size_t number) {
  NodeConfig node{.node = name_of(number)};
  node.link.listen = address_of(number, kLinkPort);
  const Address upstream = address_of(number, kServerPort);
  node.serves = {{"Fleet", upstream, UpstreamMode::kMirror},
                 {"Hot", upstream, UpstreamMode::kMirror}};
  // More links than by default, because all nodes have links to the hot node.
  node.limits.links_max = static_cast<uint32_t>(4 * plan_.nodes + 4);
  if (number == plan_.nodes) return node;
  std::vector<size_t> others;
  for (size_t i = 1; i < plan_.nodes; ++i) {
    if (i != number) others.push_back(i);
  }
  random_.shuffle(others);
  others.resize(std::min(plan_.peers, others.size()));
  if (number != 0) {
    node.peers.push_back({name_of(0), address_of(0, kLinkPort), {}});
    node.endpoints.push_back({address_of(number, kHotPort), "Hot", {name_of(0)}});
  }
  for (size_t i = 0; i < others.size(); ++i) {
    node.peers.push_back({name_of(others[i]), address_of(others[i], kLinkPort), {}});
    node.endpoints.push_back(
        {address_of(number, kFirstPeerPort + i), "Fleet", {name_of(others[i])}});
  }
  return node;
}

SimClient& Fleet::add_client(size_t node, size_t port) {
  const ClientPlan plan{.endpoint = address_of(node, port),
                        .service = port == kHotPort ? "Hot" : "Fleet",
                        .mirrored = true,
                        .calls = 1,
                        .calls_per_connection = 1,
                        .oneway_percent = 0,
                        .possible_percent = 0,
                        .timed_percent = 0,
                        .is_even = true};
  clients_.push_back(std::make_unique<SimClient>(
      network_, book_, plan, "app-" + std::to_string(clients_.size()), random_.next()));
  clients_.back()->start();
  return *clients_.back();
}

void Fleet::call_hot(std::vector<SimClient*>& callers) {
  for (size_t i = 1; i < plan_.nodes; ++i) callers.push_back(&add_client(i, kHotPort));
}

// Runs the network until `done(i)` has returned true for each i below `count`.
template <class Done>
FleetStep Fleet::measure(const std::string& name, size_t count, Done done) {
  FleetStep step{.name = name};
  const TimePoint begin = network_.now();
  const uint64_t failed_before = book_.exceptions();
  std::vector<size_t> open(count);
  for (size_t i = 0; i < count; ++i) open[i] = i;
  while (!open.empty() && book_.first_broken().empty()) {
    const Duration before = network_.now() - begin;
    network_.run_until(network_.now() + kTick + before / 100, [] { return false; });
    const Duration passed = network_.now() - begin;
    std::erase_if(open, done);
    if (step.half == Duration::zero() && open.size() <= count / 2) step.half = passed;
    if (open.empty()) step.all = passed;
    if (passed > kStepMax) {
      book_.broken(name + ": " + std::to_string(open.size()) + " of " + std::to_string(count) +
                   " were not done in time");
    }
  }
  step.failed_calls = book_.exceptions() - failed_before;
  return step;
}

FleetStep Fleet::measure_calls(const std::string& name, const std::vector<SimClient*>& callers) {
  return measure(name, callers.size(), [&](size_t i) { return callers[i]->done(); });
}

FleetStep Fleet::measure_links(const std::string& name) {
  return measure(name, plan_.nodes, [this](size_t i) { return daemons_[i]->links_are_up(); });
}

std::vector<FleetStep> Fleet::run() {
  std::vector<FleetStep> steps;
  for (const auto& daemon : daemons_) daemon->start();
  steps.push_back(measure_links("all daemons start: every link is up"));

  std::vector<SimClient*> callers;
  for (size_t node = 0; node < plan_.nodes; ++node) {
    const size_t peers = daemons_[node]->node().endpoints.size() - (node == 0 ? 0 : 1);
    for (size_t i = 0; i < peers; ++i) callers.push_back(&add_client(node, kFirstPeerPort + i));
  }
  steps.push_back(measure_calls("every node calls each of its peers at once", callers));

  const std::string new_hot = name_of(plan_.nodes);
  for (size_t i = 1; i < plan_.nodes; ++i) {
    daemons_[i]->reload([&](NodeConfig& node) {
      node.peers.front() = {new_hot, address_of(plan_.nodes, kLinkPort), {}};
      node.endpoints.front().peers = {new_hot};
    });
  }
  callers.clear();
  call_hot(callers);
  steps.push_back(
      measure_calls("all daemons reload another hot node: it answers every node", callers));
  steps.push_back(measure_links("until every link is up"));

  daemons_.back()->kill();
  network_.run_until(network_.now() + seconds(1), [] { return false; });
  daemons_.back()->start();
  steps.push_back(measure_links("the hot node is back after 1 s: every link to it is up"));
  callers.clear();
  call_hot(callers);
  steps.push_back(measure_calls("every node calls the hot node at once", callers));
  return steps;
}

size_t Fleet::links_of_an_ordinary_node() {
  return network_.connections_open(address_of(1, kLinkPort)) + daemons_[1]->node().peers.size();
}

size_t Fleet::links_of_the_hot_node() {
  return network_.connections_open(address_of(plan_.nodes, kLinkPort));
}

}  // namespace hat::sim
