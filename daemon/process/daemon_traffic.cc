// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_traffic.cc: what a daemon reports of its peers, its clients' connections,
// and the way of calls, for hatctl. Each worker answers on its own thread, one after another.
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "daemon/process/daemon.h"
#include "daemon/proxy/worker_status.h"
#include "daemon/reactor/socket_address.h"

namespace hat {
namespace {

// Asks the kernel what is at the other end of the socket `fd`. The process is the one that
// connected; it can have passed the socket on.
ClientProcess client_of(int fd, Address::Kind kind) {
  if (fd < 0) return {};
  if (kind == Address::Kind::kTcp) {
    SocketAddress address{.length = sizeof address.storage};
    auto* const storage = reinterpret_cast<sockaddr*>(&address.storage);
    if (getpeername(fd, storage, &address.length) != 0) return {};
    return {.address = to_string(to_address(address))};
  }
  ucred process{};
  socklen_t size = sizeof process;
  if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &process, &size) != 0) return {};
  return {.pid = static_cast<uint32_t>(std::max(process.pid, 0))};
}

// Asks each worker for a list, which has the members `shown` and `left_out`.
template <class Report, class Question>
WorkersReport<Report> ask_all(const std::vector<std::unique_ptr<WorkerThread>>& threads,
                              const Question& question) {
  WorkersReport<Report> report;
  for (size_t i = 0; i < threads.size(); ++i) {
    auto list = threads[i]->ask(question);
    if (!list) {
      ++report.silent;
      continue;
    }
    report.left_out += list->left_out;
    for (auto& one : list->shown) report.shown.push_back({i, std::move(one)});
  }
  return report;
}

}  // namespace

WorkersReport<PeerReport> Daemon::peers(size_t most) const {
  return ask_all<PeerReport>(threads_, [most](Worker& worker) { return worker.peer_status(most); });
}

WorkersReport<AvoidedReport> Daemon::avoided_peers(size_t most) const {
  struct AvoidedList {
    size_t left_out;
    std::vector<AvoidedPeer> shown;
  };
  return ask_all<AvoidedReport>(threads_, [most](Worker& worker) {
    std::vector<AvoidedPeer> all = worker.avoided_peers();
    const size_t left_out = all.size() - std::min(most, all.size());
    all.resize(all.size() - left_out);
    return AvoidedList{left_out, std::move(all)};
  });
}

WorkersReport<UnansweredReport> Daemon::unanswered_calls(size_t most) const {
  return ask_all<UnansweredReport>(
      threads_, [most](Worker& worker) { return worker.unanswered_calls(most); });
}

WorkersReport<WayReport> Daemon::ways_of(const std::string& service, const std::string& method,
                                         size_t most) const {
  return ask_all<WayReport>(threads_, [service, method, most](Worker& worker) {
    return worker.ways_of(service, method, most);
  });
}

ConnectionsReport Daemon::connections(ConnectionOrder order, size_t most) const {
  struct Part {
    ConnectionList list;
    std::vector<ClientProcess> clients;
  };
  ConnectionsReport report;
  for (size_t i = 0; i < threads_.size(); ++i) {
    // A connection's descriptor is valid only on the worker's thread, so the question asks for it.
    auto part = threads_[i]->ask([order, most](Worker& worker) {
      Part answer{worker.connection_status(order, most), {}};
      const Duration began = worker.reactor().cpu_time();
      for (const ConnectionStatus& one : answer.list.shown) {
        answer.clients.push_back(client_of(one.descriptor, one.kind));
      }
      answer.list.took += worker.reactor().cpu_time() - began;
      return answer;
    });
    if (!part) {
      ++report.silent;
      continue;
    }
    report.open += part->list.open;
    report.longest = std::max(report.longest, part->list.took);
    for (size_t k = 0; k < part->clients.size(); ++k) {
      report.shown.push_back({i, std::move(part->list.shown[k]), std::move(part->clients[k])});
    }
  }
  return report;
}

}  // namespace hat
