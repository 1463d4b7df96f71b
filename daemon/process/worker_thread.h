// SPDX-License-Identifier: Apache-2.0
// daemon/process/worker_thread.h: runs a worker on its own thread, and gives the main thread access
// to the worker.
//
// Thread   Only the main thread uses this class; ask() runs its question on the worker's thread.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "config/numa_hints.h"
#include "config/worker_placement.h"
#include "daemon/process/rdma.h"
#include "daemon/proxy/worker.h"
#include "daemon/reactor/libevent_reactor.h"
#include "daemon/takeover/takeover.h"
#include "daemon/tls/tls_seal.h"

namespace hat {

class WorkerThread {
 public:
  // Opens the worker's fabric; rdma() describes the result. The worker runs, and its memory is
  // allocated, where `placement` says. Returns an error if the fabric cannot be opened, or if the
  // kernel refuses the cores.
  static Result<std::unique_ptr<WorkerThread>> open(const FabricConfig& fabric,
                                                    WorkerPlacement placement);
  ~WorkerThread();  // stops the worker and cuts off its calls in flight

  const OpenedRdma& rdma() const { return rdma_; }
  const WorkerPlacement& placement() const { return placement_; }
  // Returns true if the worker accepts connections that only workers of `node` may accept; nullopt
  // stands for connections that every worker may accept.
  bool accepts_for(std::optional<int> node) const { return !node || node == placement_.node; }
  // Creates the worker. `tls` secures its links; null means that links do not use TLS.
  void make_worker(Worker::Setup setup, std::shared_ptr<const TlsContext> tls);
  // Sets the TLS context of links that are made from now on. Requires that make_worker() got a TLS
  // context.
  void set_tls(std::shared_ptr<const TlsContext> tls);
  using EndpointSockets = std::vector<std::shared_ptr<ListenSocket>>;
  // Replaces the node's configuration and the routes (Worker::set_node()), and accepts connections
  // as start_accepting() says.
  void set_node(std::shared_ptr<const NodeConfig> node, std::shared_ptr<const RoutingTable> routes,
                const EndpointSockets& endpoints, const std::optional<ListenSocket>& link,
                const NumaHints& numa);
  // Replaces the node's configuration by one in which only names have other addresses.
  void set_addresses(std::shared_ptr<const NodeConfig> node,
                     std::shared_ptr<const RoutingTable> routes);
  void start();
  // Accepts connections on those of `endpoints` and `link` that `numa` gives to workers of this
  // worker's node, and on no others from now on. `link` must stay open until stop_accepting().
  void start_accepting(const EndpointSockets& endpoints, const std::optional<ListenSocket>& link,
                       const NumaHints& numa);
  // Hands the worker a connection that another process (the predecessor) accepted.
  void give(TakenConnection connection);
  // Makes the worker's event loop run an iteration soon, even if it is idle.
  void wake() {
    reactor_.post([] {});
  }
  // Stops accepting connections. Returns true if the caller may close the listening sockets now;
  // returns false if the worker's event loop does not respond.
  bool stop_accepting();

  // Runs `question` on the worker's thread and returns its answer. Returns nothing if the worker's
  // event loop does not respond within `patience`.
  template <class Question>
  auto ask(Question question, std::chrono::milliseconds patience = std::chrono::seconds(2))
      -> std::optional<decltype(question(std::declval<Worker&>()))> {
    using Answer = decltype(question(std::declval<Worker&>()));
    auto promise = std::make_shared<std::promise<Answer>>();
    auto answer = promise->get_future();
    reactor_.post([this, promise, question] { promise->set_value(question(*worker_)); });
    if (answer.wait_for(patience) != std::future_status::ready) return std::nullopt;
    return answer.get();
  }

 private:
  struct EndpointListener final : ListenerEvents {
    EndpointListener(Worker& of, size_t endpoint) : worker(of), index(endpoint) {}
    void on_connection(const Accept& accept) override { worker.accept_client(index, accept); }
    Worker& worker;
    size_t index;
  };
  struct LinkListener final : ListenerEvents {
    explicit LinkListener(Worker& of) : worker(of) {}
    void on_connection(const Accept& accept) override { worker.accept_link(accept); }
    Worker& worker;
  };

  explicit WorkerThread(WorkerPlacement placement) : placement_(std::move(placement)) {}
  // The sockets on which the worker is to accept connections.
  struct Listening {
    EndpointSockets endpoints;           // null: another worker accepts its connections
    const ListenSocket* link = nullptr;  // null: another worker accepts links, or none does
  };
  Listening to_listen_on(const EndpointSockets& endpoints, const std::optional<ListenSocket>& link,
                         const NumaHints& numa) const;
  void listen_on(Listening sockets);

  const WorkerPlacement placement_;
  LibeventReactor reactor_;
  // Declared before worker_, so that in each iteration the RDMA host polls first, and the worker
  // then handles in the same iteration what has arrived.
  OpenedRdma rdma_;
  std::unique_ptr<TlsSeal> seal_;
  std::unique_ptr<Worker> worker_;
  Listening listening_;  // the sockets of listeners_
  std::vector<std::unique_ptr<ListenerEvents>> listener_events_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::thread thread_;
};

}  // namespace hat
