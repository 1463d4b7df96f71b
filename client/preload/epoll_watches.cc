// SPDX-License-Identifier: Apache-2.0
#include "client/preload/epoll_watches.h"

#include <sys/socket.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <unordered_map>

#include "client/preload/descriptors.h"
#include "client/preload/real.h"
#include "client/preload/rules.h"

namespace hatrpc::preload::epoll_watches {
namespace {

using Watches = std::unordered_map<int, std::vector<EpollWatch>>;

constinit std::mutex mutex;
constinit std::atomic<size_t> count{0};

Watches& watches() {
  static Watches& all = *new Watches;  // never destroyed: threads can run while the process exits
  return all;
}

bool is_tcp(int fd) {
  int type = 0;
  int domain = 0;
  socklen_t bytes = sizeof type;
  if (real::getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) != 0 || type != SOCK_STREAM) {
    return false;
  }
  bytes = sizeof domain;
  return real::getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) == 0 &&
         (domain == AF_INET || domain == AF_INET6);
}

}  // namespace

void note(int fd, int epoll, int operation, const epoll_event* event) {
  if ((connect_rules().empty() && listen_rules().empty()) || !is_tcp(fd)) return;
  const std::lock_guard lock(mutex);
  auto& list = watches()[fd];
  std::erase_if(list, [&](const EpollWatch& each) { return each.epoll == epoll; });
  if (operation != EPOLL_CTL_DEL && event != nullptr) list.push_back({epoll, *event});
  if (list.empty()) watches().erase(fd);
  count = watches().size();
}

void forget(int fd) {
  if (count.load(std::memory_order_relaxed) == 0 || !descriptors::is_own_table()) return;
  const std::lock_guard lock(mutex);
  watches().erase(fd);
  count = watches().size();
}

void before_fork() { mutex.lock(); }
void after_fork() { mutex.unlock(); }

namespace {

bool still_watches(int fd, EpollWatch& watch) {
  if ((watch.event.events & EPOLLEXCLUSIVE) == 0) {
    return real::epoll_ctl(watch.epoll, EPOLL_CTL_MOD, fd, &watch.event) == 0;
  }
  // The kernel does not modify an exclusive entry. An attempt to add it again shows that it exists.
  if (real::epoll_ctl(watch.epoll, EPOLL_CTL_ADD, fd, &watch.event) != 0) return errno == EEXIST;
  real::epoll_ctl(watch.epoll, EPOLL_CTL_DEL, fd, nullptr);
  return false;
}

}  // namespace

std::vector<EpollWatch> of(int fd) {
  std::vector<EpollWatch> list;
  {
    const std::lock_guard lock(mutex);
    if (const auto found = watches().find(fd); found != watches().end()) list = found->second;
  }
  std::erase_if(list, [&](EpollWatch& each) { return !still_watches(fd, each); });
  return list;
}

}  // namespace hatrpc::preload::epoll_watches
