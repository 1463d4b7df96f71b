// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/inner_node.h"

#include <glog/logging.h>

#include <mutex>
#include <random>

namespace hatrpc::rdma {
namespace {

// Without this, the library's information for operators of a daemon would be in the application's
// standard error. An application that uses glog itself has its own settings.
void be_quiet() {
  static std::once_flag once;
  std::call_once(once, [] {
    if (!google::IsGoogleLoggingInitialized() && getenv("GLOG_minloglevel") == nullptr) {
      FLAGS_minloglevel = google::GLOG_WARNING;
    }
  });
}

}  // namespace

hat::Result<std::unique_ptr<InnerNode>> InnerNode::open(Prepared prepared) {
  be_quiet();
  std::unique_ptr<InnerNode> node(
      new InnerNode(std::make_shared<const hat::NodeConfig>(prepared.node)));
  hat::Result<void> started;
  node->loop_->in_loop([&] { started = node->start(std::move(prepared)); });
  if (!started) return std::unexpected(started.error());
  return node;
}

// Runs in the loop.
hat::Result<void> InnerNode::start(Prepared prepared) {
  ApplicationReactor& reactor = loop_->reactor();
  reactor.poll_sockets_rarely();
  reactor.probe_tcp_after(std::chrono::floor<std::chrono::seconds>(node_->limits.tcp_keepalive));
  HAT_TRY(rdma_, hat::open_rdma(reactor, node_->fabric, std::nullopt));
  if (prepared.tls) {
    seal_ = std::make_unique<hat::TlsSeal>(reactor, prepared.tls, *node_, counters_.tls);
  }
  std::random_device random;
  worker_ = std::make_unique<hat::Worker>(
      reactor, hat::Worker::Setup{.generation = (uint64_t{random()} << 32) | random(),
                                  .seed = random(),
                                  .node = node_,
                                  .routes = routes(prepared),
                                  .counters = &counters_,
                                  .detached = &detached_,
                                  .rdma = rdma_.host.get(),
                                  .seal = seal_.get()});
  return {};
}

std::shared_ptr<const hat::RoutingTable> InnerNode::routes(const Prepared& prepared) {
  hat::engine::HostFacts host = hat::engine::this_host();
  host.rdma = rdma_.host != nullptr;
  host.rdma_absent_reason = rdma_.what;
  const std::string fabric = rdma_.host ? rdma_.host->fabric_name() : "";
  if (fabric == "verbs") {
    const auto cores = hat::read_host_cores(node_->fabric, hat::allowed_cores());
    host.nic_cores = hat::count_nic_cores(cores, host.cores);
  }
  hat::add_costs(prepared.profiles, fabric, host);
  return std::make_shared<const hat::RoutingTable>(1, prepared.manifest, hat::services_of(*node_),
                                                   host, functions_, node_->serves,
                                                   node_->limits.call_timeout);
}

InnerNode::~InnerNode() {
  loop_->in_loop([this] {
    worker_.reset();
    seal_.reset();
    rdma_.host.reset();
    loop_->reactor().set_server({});
  });
}

}  // namespace hatrpc::rdma
