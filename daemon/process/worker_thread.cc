// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/worker_thread.h"

#include <glog/logging.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/shared_memory.h"
#include "base/time_slice.h"

namespace hat {

namespace {

// Binds the calling thread to a worker's cores while the object exists, so that the memory that the
// thread allocates and uses first comes from the worker's NUMA node.
class BoundForNow {
 public:
  explicit BoundForNow(const Cores& cores) {
    if (cores.empty()) return;
    before_ = allowed_cores();
    bound_ = bind_thread(cores);
  }
  ~BoundForNow() {
    if (before_.empty()) return;
    const auto restored = bind_thread(before_);
    LOG_IF(ERROR, !restored) << restored.error().message;
  }
  BoundForNow(const BoundForNow&) = delete;
  BoundForNow& operator=(const BoundForNow&) = delete;

  const Result<void>& bound() const { return bound_; }

 private:
  Cores before_;  // empty: the destructor has nothing to restore
  Result<void> bound_;
};

// Returns `node` if this process may request memory on it. Otherwise, logs a warning and returns
// nullopt: each page then comes from the node of the core that uses it first.
std::optional<int> usable_memory_node(std::optional<int> node) {
  if (!node) return node;
  const auto trial = SharedMemory::create("hatrpc-numa-trial", 1);
  if (!trial) return node;  // the creation of the real memory reports this error
  const auto preferred = prefer_numa_node(trial->bytes(), *node);
  if (preferred) return node;
  LOG(WARNING) << "worker_cores: " << preferred.error().message
               << "; memory that another process uses first may be on another node (mbind(2) is "
                  "refused in most containers without CAP_SYS_NICE)";
  return std::nullopt;
}

}  // namespace

Result<std::unique_ptr<WorkerThread>> WorkerThread::open(const FabricConfig& fabric,
                                                         WorkerPlacement placement) {
  std::unique_ptr<WorkerThread> thread(new WorkerThread(std::move(placement)));
  const BoundForNow bound(thread->placement_.cores);
  if (!bound.bound()) return std::unexpected(in("worker_cores", bound.bound().error()));
  const std::optional<int> memory_node = usable_memory_node(thread->placement_.memory_node);
  if (memory_node) thread->reactor_.prefer_memory_of(*memory_node);
  HAT_TRY(thread->rdma_, open_rdma(thread->reactor_, fabric, memory_node));
  return thread;
}

void WorkerThread::make_worker(Worker::Setup setup, std::shared_ptr<const TlsContext> tls) {
  const BoundForNow bound(placement_.cores);
  setup.rdma = rdma_.host.get();
  reactor_.probe_tcp_after(
      std::chrono::floor<std::chrono::seconds>(setup.node->limits.tcp_keepalive));
  if (tls) {
    seal_ = std::make_unique<TlsSeal>(reactor_, std::move(tls), *setup.node, setup.counters->tls);
  }
  setup.seal = seal_.get();
  worker_ = std::make_unique<Worker>(reactor_, std::move(setup));
}

WorkerThread::Listening WorkerThread::to_listen_on(const EndpointSockets& endpoints,
                                                   const std::optional<ListenSocket>& link,
                                                   const NumaHints& numa) const {
  Listening sockets{endpoints, link && accepts_for(numa.links) ? &*link : nullptr};
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (!accepts_for(numa.endpoints.at(i))) sockets.endpoints[i] = nullptr;
  }
  return sockets;
}

// Runs on the worker's thread.
void WorkerThread::listen_on(Listening sockets) {
  listeners_.clear();
  listener_events_.clear();
  listening_ = std::move(sockets);
  for (size_t i = 0; i < listening_.endpoints.size(); ++i) {
    if (listening_.endpoints[i] == nullptr) continue;
    listener_events_.push_back(std::make_unique<EndpointListener>(*worker_, i));
    listeners_.push_back(reactor_.listen(*listening_.endpoints[i], *listener_events_.back()));
  }
  if (listening_.link != nullptr) {
    listener_events_.push_back(std::make_unique<LinkListener>(*worker_));
    listeners_.push_back(reactor_.listen(*listening_.link, *listener_events_.back()));
  }
}

void WorkerThread::start_accepting(const EndpointSockets& endpoints,
                                   const std::optional<ListenSocket>& link, const NumaHints& numa) {
  ask([sockets = to_listen_on(endpoints, link, numa), this](Worker&) {
    listen_on(sockets);
    return true;
  });
}

void WorkerThread::set_node(std::shared_ptr<const NodeConfig> node,
                            std::shared_ptr<const RoutingTable> routes,
                            const EndpointSockets& endpoints,
                            const std::optional<ListenSocket>& link, const NumaHints& numa) {
  ask([node, routes, sockets = to_listen_on(endpoints, link, numa), this](Worker& worker) {
    if (seal_) seal_->set_peers(node->peers);
    reactor_.probe_tcp_after(std::chrono::floor<std::chrono::seconds>(node->limits.tcp_keepalive));
    worker.set_node(node, routes);
    listen_on(sockets);
    return true;
  });
}

void WorkerThread::set_addresses(std::shared_ptr<const NodeConfig> node,
                                 std::shared_ptr<const RoutingTable> routes) {
  ask([node, routes, this](Worker& worker) {
    if (seal_) seal_->set_peers(node->peers);
    worker.set_node(node, routes);
    return true;
  });
}

void WorkerThread::give(TakenConnection connection) {
  // Holds the connection in a shared_ptr: post() takes a std::function, whose captures must be
  // copyable, and a TakenConnection is not.
  const auto given = std::make_shared<TakenConnection>(std::move(connection));
  reactor_.post([this, given] {
    const auto accept = [&](StreamEvents& events) {
      return reactor_.resume_accepted(std::move(given->socket), std::move(given->memory), events);
    };
    worker_->take_over_client(given->endpoint, accept, given->read,
                              given->server ? &*given->server : nullptr);
  });
}

WorkerThread::~WorkerThread() {
  if (thread_.joinable()) {
    reactor_.stop();
    thread_.join();
  }
  listeners_.clear();
  worker_.reset();
}

void WorkerThread::start() {
  thread_ = std::thread([this] {
    if (!placement_.cores.empty()) {
      const auto bound = bind_thread(placement_.cores);
      LOG_IF(ERROR, !bound) << "worker_cores: " << bound.error().message;
    }
    const auto nice = worker_->node().worker_nice;
    if (nice && setpriority(PRIO_PROCESS, 0, *nice) != 0) {  // id 0 is the calling thread
      PLOG(WARNING) << "worker_nice: " << *nice
                    << " was refused; values below 0 require CAP_SYS_NICE";
    }
    if (!request_short_time_slices()) {
      PLOG(INFO) << "the worker keeps the kernel's default time slice";
    }
    reactor_.run();
  });
  const std::string name = "worker-" + std::to_string(worker_->index());
  pthread_setname_np(thread_.native_handle(), name.c_str());
}

void WorkerThread::set_tls(std::shared_ptr<const TlsContext> tls) {
  reactor_.post([this, tls = std::move(tls)] { seal_->set_context(tls); });
}

bool WorkerThread::stop_accepting() {
  const auto stopped = ask([this](Worker&) {
    listen_on({});
    return true;
  });
  return stopped.has_value();
}

}  // namespace hat
