// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/worker_thread.h"

#include <glog/logging.h>
#include <pthread.h>
#include <sys/resource.h>

#include "base/time_slice.h"

namespace hat {

Result<std::unique_ptr<WorkerThread>> WorkerThread::open(const FabricConfig& fabric) {
  std::unique_ptr<WorkerThread> thread(new WorkerThread());
  HAT_TRY(thread->rdma_, open_rdma(thread->reactor_, fabric));
  return thread;
}

void WorkerThread::make_worker(Worker::Setup setup, std::shared_ptr<const TlsContext> tls) {
  setup.rdma = rdma_.host.get();
  reactor_.probe_tcp_after(
      std::chrono::floor<std::chrono::seconds>(setup.node->limits.tcp_keepalive));
  if (tls) {
    seal_ = std::make_unique<TlsSeal>(reactor_, std::move(tls), *setup.node, setup.counters->tls);
  }
  setup.seal = seal_.get();
  worker_ = std::make_unique<Worker>(reactor_, std::move(setup));
}

void WorkerThread::start_accepting(const std::vector<ListenSocket>& endpoints,
                                   const std::optional<ListenSocket>& link) {
  ask([&endpoints, &link, this](Worker& worker) {
    for (size_t i = 0; i < endpoints.size(); ++i) {
      listener_events_.push_back(std::make_unique<EndpointListener>(worker, i));
      listeners_.push_back(reactor_.listen(endpoints[i], *listener_events_.back()));
    }
    if (link) {
      listener_events_.push_back(std::make_unique<LinkListener>(worker));
      listeners_.push_back(reactor_.listen(*link, *listener_events_.back()));
    }
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
    listeners_.clear();
    listener_events_.clear();
    return true;
  });
  return stopped.has_value();
}

}  // namespace hat
