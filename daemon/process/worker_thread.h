// SPDX-License-Identifier: Apache-2.0
// daemon/process/worker_thread.h: a worker on a thread of its own, and how the main thread talks to
// it.
//
// Thread   the main thread's; what is asked runs on the worker's.
#pragma once

#include <chrono>
#include <future>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "daemon/process/rdma.h"
#include "daemon/proxy/worker.h"
#include "daemon/reactor/libevent_reactor.h"
#include "daemon/takeover/takeover.h"
#include "daemon/tls/tls_seal.h"

namespace hat {

class WorkerThread {
 public:
  // Its fabric; `rdma()` says what came of it.
  static Result<std::unique_ptr<WorkerThread>> open(const FabricConfig& fabric);
  ~WorkerThread();  // stops it: whatever is in flight is cut

  const OpenedRdma& rdma() const { return rdma_; }
  // `tls`: what links are sealed with; null: they are open.
  void make_worker(Worker::Setup setup, std::shared_ptr<const TlsContext> tls);
  // For links from now on; where there was one before.
  void set_tls(std::shared_ptr<const TlsContext> tls);
  void start();
  // Accepts there; the sockets outlive that.
  void start_accepting(const std::vector<ListenSocket>& endpoints,
                       const std::optional<ListenSocket>& link);
  // A connection that another process accepted.
  void give(TakenConnection connection);
  // Has its loop turn soon, also where nothing happens.
  void wake() {
    reactor_.post([] {});
  }
  // Whether the listening sockets may be closed now; false where the worker does not turn.
  bool stop_accepting();

  // Runs `question` with the worker, and returns its answer; nothing where the worker does not turn
  // within `patience`.
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

  WorkerThread() = default;

  LibeventReactor reactor_;
  OpenedRdma rdma_;  // before the worker in each turn: what it finds is answered in the same one
  std::unique_ptr<TlsSeal> seal_;
  std::unique_ptr<Worker> worker_;
  std::vector<std::unique_ptr<ListenerEvents>> listener_events_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  std::thread thread_;
};

}  // namespace hat
