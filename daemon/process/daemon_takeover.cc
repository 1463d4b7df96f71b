// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_takeover.cc: how a daemon takes over from its predecessor, and hands over
// to its successor. docs/upgrade.md describes the procedure.
#include <glog/logging.h>

#include <algorithm>

#include "daemon/metrics/function_totals.h"
#include "daemon/process/daemon.h"
#include "daemon/process/service_manager.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

bool names(const std::vector<std::string>& addresses, const Address& address) {
  return std::ranges::find(addresses, as_bound(to_string(address)), as_bound) != addresses.end();
}

}  // namespace

std::vector<ListenSocket*> Daemon::Sockets::all() {
  std::vector<ListenSocket*> all;
  for (const auto& endpoint : endpoints) all.push_back(endpoint.get());
  for (auto* one : {&link, &admin_http, &admin_socket, &offer}) {
    if (*one) all.push_back(&**one);
  }
  return all;
}

void Daemon::Sockets::close() {
  endpoints.clear();
  for (auto* one : {&link, &admin_http, &admin_socket, &offer}) one->reset();
}

// --- Taking over ---

// Reports to the predecessor that this process is ready once no link and no name is pending, so
// that the first calls need not wait for links. A link that failed is not pending. The wait ends at
// drain_until_ at the latest.
void Daemon::say_ready_if_ready() {
  if (!pending().empty() && std::chrono::steady_clock::now() < drain_until_) return;
  phase_ = Phase::kReady;
  LOG(INFO) << "takeover: ready; informing the previous hatrpcd";
  std::vector<std::string> listening;
  for (const ListenSocket* socket : sockets_.all()) {
    listening.push_back(to_string(socket->address()));
  }
  taking_over_.node = node_;
  taking_over_.channel->say_ready(base_.get(), listening, *taking_over_.node, *this);
}

void Daemon::on_go(const std::vector<std::string>& owned_paths) {
  giving_way_.paths = owned_paths;
  for (ListenSocket* socket : sockets_.all()) {
    if (names(giving_way_.paths, socket->address())) socket->own_path(true);
  }
  detached_.expect_more(true);
  serve();
  taking_over_.channel->say_serving();
}

void Daemon::on_refused(const std::string& why) {
  LOG(ERROR) << "takeover: failed, and this hatrpcd exits: " << why;
  taking_over_.refused = true;
  kept_.release();
  for (ListenSocket* socket : sockets_.all()) {
    if (names(giving_way_.paths, socket->address())) socket->own_path(false);
  }
  if (phase_ != Phase::kReady) return drain();
  event_base_loopbreak(base_.get());
}

void Daemon::on_connection(TakenConnection connection) {
  std::vector<WorkerThread*> accepting;
  for (auto& thread : threads_) {
    if (thread->accepts_for(applied_.numa.endpoints.at(connection.endpoint)))
      accepting.push_back(thread.get());
  }
  CHECK(!accepting.empty()) << "no worker accepts connections of endpoint " << connection.endpoint;
  accepting[taking_over_.connections++ % accepting.size()]->give(std::move(connection));
}

void Daemon::on_server_connection(DetachedConnection connection) {
  if (!detached_.adopt(std::move(connection), std::chrono::steady_clock::now())) {
    LOG(ERROR) << "takeover: a connection to a server is lost: "
               << DetachedConnections::kConnectionsMax << " connections in all, or "
               << DetachedConnections::kConnectionsOfPeerMax
               << " of its peer, already wait for their peers";
  }
}

void Daemon::on_predecessor_left() {
  detached_.expect_more(false);
  taking_over_.complete = true;
  LOG(INFO) << "takeover: the previous hatrpcd has exited; " << taking_over_.connections
            << " connection(s) came from it";
  ready_report_ = ReadyReport::kDue;
  report_when_ready();
}

// --- Giving way ---

std::vector<std::string> Daemon::on_successor_ready(int pid,
                                                    const std::vector<std::string>& taken) {
  LOG(INFO) << "takeover: process " << pid << " is ready; this hatrpcd stops accepting connections";
  keep_learned();  // the successor reads it when it begins to serve, and writes it from then on
  kept_.release();
  phase_ = Phase::kGivingWay;
  if (serving_file_ != nullptr) serving_file_->hide();
  all_stopped_ = true;
  for (auto& thread : threads_) all_stopped_ &= thread->stop_accepting();
  admin_.reset();
  giving_way_.paths.clear();
  for (ListenSocket* socket : sockets_.all()) {
    if (!socket->owns_path() || !names(taken, socket->address())) continue;
    socket->own_path(false);
    giving_way_.paths.push_back(to_string(socket->address()));
  }
  return giving_way_.paths;
}

void Daemon::on_successor_failed(const std::string& why) {
  LOG(ERROR) << "takeover: the new hatrpcd did not begin to serve: " << why
             << "; this hatrpcd continues to serve";
  for (ListenSocket* socket : sockets_.all()) {
    if (names(giving_way_.paths, socket->address())) socket->own_path(true);
  }
  phase_ = Phase::kServing;
  (void)kept_.begin();  // the workers have newer choices than the file
  accept();
}

void Daemon::on_successor_serving(int pid, std::shared_ptr<Successor> successor) {
  LOG(INFO) << "takeover: process " << pid
            << " serves the node now; handing over connections to it";
  phase_ = Phase::kHandingOver;
  drain_until_ = std::chrono::steady_clock::now() + node_->limits.drain_timeout;
  watchdog_.tick.reset();  // systemd watches the successor from now on
  if (pid != 0) service_manager::notify_main_process(pid);
  if (all_stopped_) sockets_.close();
  giving_way_.next = successor;
  giving_way_.next_until = std::chrono::steady_clock::now() + kTurnTime;
  for (auto& thread : threads_) {
    thread->ask([successor](Worker& worker) {
      worker.begin_hand_over(successor);
      return true;
    });
  }
  event_add(tick_.get(), &kDrainInterval);
}

void Daemon::on_successor_gone(const std::string& why) {
  LOG(WARNING) << "takeover: the new hatrpcd takes no more connections: " << why
               << "; the remaining connections stay here until they end";
  giving_way_.next.reset();
  for (auto& thread : threads_) {
    thread->ask([](Worker& worker) {
      worker.end_hand_over();
      return true;
    });
  }
}

// Hands the detached connections over to the successor when every peer opens its new streams there,
// or at giving_way_.next_until at the latest. Until then, a new stream to this process may need one
// of these connections.
void Daemon::give_server_connections() {
  if (!giving_way_.next) return;
  const bool turned = std::ranges::all_of(threads_, [](auto& thread) {
    return thread->ask([](Worker& worker) { return worker.peers_turned(); }).value_or(false);
  });
  if (!turned && std::chrono::steady_clock::now() < giving_way_.next_until) return;
  detached_.give_to(std::move(giving_way_.next));
  detached_.sweep(std::chrono::steady_clock::now());
}

void Daemon::leave_if_handed_over() {
  give_server_connections();
  const bool done =
      std::ranges::all_of(
          threads_,
          [](auto& thread) {
            return thread->ask([](Worker& worker) { return worker.handed_over(); }).value_or(false);
          }) &&
      detached_.size() == 0;
  const bool late = std::chrono::steady_clock::now() >= drain_until_;
  if (!done && !late) return;
  if (!done) {
    LOG(WARNING) << "limits.drain_timeout has passed: closing "
                 << total(metrics_.worker_views, &WorkerCounters::connections_open)
                 << " connection(s) and cutting off their calls in flight";
  }
  LOG(INFO) << "takeover: complete; "
            << total(metrics_.worker_views, &WorkerCounters::connections_handed_over)
            << " connection(s) went to the new hatrpcd";
  event_base_loopbreak(base_.get());
}

// --- Starting a successor on SIGUSR2 ---

void Daemon::start_successor() {
  if (phase_ != Phase::kServing || giving_way_.process.pid != 0) {
    LOG(WARNING) << "takeover: ignored SIGUSR2, because this hatrpcd takes part in a takeover or "
                    "is draining";
    return;
  }
  auto process = spawn_successor();
  if (!process) {
    LOG(ERROR) << "takeover: cannot start a new hatrpcd: " << process.error().message;
    return;
  }
  giving_way_.process = std::move(*process);
  giving_way_.process_end.reset(
      event_new(base_.get(), giving_way_.process.end.get(), EV_READ, on_successor_end, this));
  event_add(giving_way_.process_end.get(), nullptr);
  LOG(INFO) << "takeover: received SIGUSR2 and started process " << giving_way_.process.pid
            << " to take over";
}

void Daemon::on_successor_end(evutil_socket_t, short, void* self) {
  auto& daemon = *static_cast<Daemon*>(self);
  LOG(ERROR) << "takeover: the new hatrpcd, process " << daemon.giving_way_.process.pid
             << ", has exited; its own log lines say why";
  daemon.giving_way_.process_end.reset();
  daemon.giving_way_.process = SuccessorProcess{};
}

}  // namespace hat
