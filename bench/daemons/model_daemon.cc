// SPDX-License-Identifier: Apache-2.0
#include "bench/daemons/model_daemon.h"

#include <glog/logging.h>

#include <utility>

#include "daemon/metrics/function_totals.h"

namespace hat::bench {

using model::ModelFabric;
using model::ModelReactor;

ModelDaemon::ModelDaemon(model::Host& host, model::Network& network, model::QueuePairs& pairs,
                         Setup setup)
    : metrics_(setup.workers) {
  const uint32_t cores = host.machine.hardware().cores;
  const engine::HostFacts facts{cores, cores, setup.rdma, "--link tcp"};
  const auto node = std::make_shared<const NodeConfig>(setup.node);
  const auto routes = std::make_shared<const RoutingTable>(
      1, setup.manifest, std::vector<std::string>{}, facts, metrics_, node->serves);
  for (size_t index = 0; index < setup.workers; ++index) {
    start(*workers_.emplace_back(std::make_unique<One>()), index, setup, node, routes, host,
          network, pairs);
  }
  // Clients and links go to the workers in turn.
  for (size_t endpoint = 0; endpoint < node->endpoints.size(); ++endpoint) {
    network.listen(node->endpoints[endpoint].listen,
                   {.wire = setup.local,
                    .card = &host.card,
                    .on_connection = [this, endpoint](const auto& connection) {
                      One& one = *workers_[next_client_++ % workers_.size()];
                      one.reactor->accept(connection, [&one, endpoint](const auto& accept) {
                        one.worker->accept_client(endpoint, accept);
                      });
                    }});
  }
  if (!node->link.listen) return;
  network.listen(
      *node->link.listen,
      {.wire = setup.link, .card = &host.card, .on_connection = [this](const auto& connection) {
         One& one = *workers_[next_link_++ % workers_.size()];
         one.reactor->accept(connection,
                             [&one](const auto& accept) { one.worker->accept_link(accept); });
       }});
}

ModelDaemon::~ModelDaemon() = default;

void ModelDaemon::start(One& one, size_t index, const Setup& setup,
                        const std::shared_ptr<const NodeConfig>& node,
                        const std::shared_ptr<const RoutingTable>& routes, model::Host& host,
                        model::Network& network, model::QueuePairs& pairs) {
  one.reactor = std::make_unique<ModelReactor>(host.machine, host.card, network);
  if (setup.rdma) {
    auto made = engine::RdmaHost::create(
        *one.reactor, std::make_unique<ModelFabric>(one.reactor->thread(), host.card, pairs, true),
        {.arena = {.bytes = {64 << 20, 64 << 20, 16 << 20}, .step = 1 << 20}, .spin = {}});
    CHECK(made) << made.error().message;
    one.rdma = std::move(*made);
  }
  one.worker =
      std::make_unique<Worker>(*one.reactor, Worker::Setup{.index = index,
                                                           .generation = 1,
                                                           .seed = static_cast<uint32_t>(index + 1),
                                                           .node = node,
                                                           .routes = routes,
                                                           .counters = &one.counters,
                                                           .detached = &detached_,
                                                           .rdma = one.rdma.get()});
  one.reactor->start();
}

model::Time ModelDaemon::busy() const {
  model::Time sum{};
  for (const auto& one : workers_) sum += one->reactor->thread().busy();
  return sum;
}

std::map<std::pair<std::string, std::string>, uint64_t> ModelDaemon::ways() {
  std::map<std::pair<std::string, std::string>, uint64_t> calls;
  for (FunctionMetrics& function : metrics_.all()) {
    for (const WayCount& one : total(function, Side::kClient).ways) {
      calls[{std::string(name(one.way.request)), std::string(name(one.way.reply))}] += one.calls;
    }
  }
  return calls;
}

}  // namespace hat::bench
