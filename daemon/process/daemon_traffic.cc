// SPDX-License-Identifier: Apache-2.0
// daemon/process/daemon_traffic.cc: what a daemon reports of its peers, its clients' connections,
// and the way of calls, for hatctl. Each worker answers on its own thread, one after another.
#include <sys/socket.h>

#include <algorithm>

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

}  // namespace

WorkersReport<PeerReport> Daemon::peers(size_t most) const {
  WorkersReport<PeerReport> report;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto peers = threads_[i]->ask([most](Worker& worker) { return worker.peer_status(most); });
    if (!peers) {
      ++report.silent;
      continue;
    }
    report.left_out += peers->left_out;
    for (PeerStatus& one : peers->shown) report.shown.push_back({i, std::move(one)});
  }
  return report;
}

WorkersReport<AvoidedReport> Daemon::avoided_peers(size_t most) const {
  WorkersReport<AvoidedReport> report;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto avoided = threads_[i]->ask([](Worker& worker) { return worker.avoided_peers(); });
    if (!avoided) {
      ++report.silent;
      continue;
    }
    const size_t shown = std::min(most, avoided->size());
    report.left_out += avoided->size() - shown;
    for (size_t k = 0; k < shown; ++k) report.shown.push_back({i, std::move((*avoided)[k])});
  }
  return report;
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

WorkersReport<UnansweredReport> Daemon::unanswered_calls(size_t most) const {
  WorkersReport<UnansweredReport> report;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto waiting =
        threads_[i]->ask([most](Worker& worker) { return worker.unanswered_calls(most); });
    if (!waiting) {
      ++report.silent;
      continue;
    }
    report.left_out += waiting->left_out;
    for (UnansweredCalls& one : waiting->shown) report.shown.push_back({i, std::move(one)});
  }
  return report;
}

WorkersReport<WayReport> Daemon::ways_of(const std::string& service, const std::string& method,
                                         size_t most) const {
  WorkersReport<WayReport> report;
  for (size_t i = 0; i < threads_.size(); ++i) {
    auto ways = threads_[i]->ask(
        [service, method, most](Worker& worker) { return worker.ways_of(service, method, most); });
    if (!ways) {
      ++report.silent;
      continue;
    }
    report.left_out += ways->left_out;
    for (WayToPeer& one : ways->shown) report.shown.push_back({i, std::move(one)});
  }
  return report;
}

}  // namespace hat
