// SPDX-License-Identifier: Apache-2.0
#include "client/preload/descriptors.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include <mutex>
#include <utility>

#include "client/preload/connection.h"
#include "client/preload/epoll_watches.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload::descriptors {
namespace {

constexpr int kHiddenFrom = 512;  // programs rarely use numbers from 512 on

// The table is allocated in pages, because most processes need only the first page.
constexpr int kPage = 256;
struct Slot {
  std::shared_ptr<Connection> connection;  // of kind kRing
  std::shared_ptr<Listener> listener;      // of kind kListener
};
using Page = Slot[kPage];
constinit std::atomic<Page*> pages[kMax / kPage]{};

// Descriptor number n uses lock n modulo kLocks, so threads with different connections rarely wait
// for the same lock.
constexpr int kLocks = 64;
constinit std::mutex locks[kLocks];
std::mutex& lock_of(int fd) { return locks[fd % kLocks]; }

// One more than the highest descriptor that was ever a ring or a listening socket.
constinit std::atomic<int> end{0};
constinit std::atomic<pid_t> owner{0};

Slot& slot(int fd) {
  Page* page = pages[fd / kPage].load(std::memory_order_acquire);
  if (page == nullptr) {
    Page* fresh = reinterpret_cast<Page*>(new Page{});
    if (pages[fd / kPage].compare_exchange_strong(page, fresh, std::memory_order_acq_rel)) {
      page = fresh;
    } else {
      delete[] reinterpret_cast<Slot*>(fresh);
    }
  }
  return (*page)[fd % kPage];
}

void visit_all(const std::function<void(int, Connection&)>& visit) {
  for (int fd = 0; fd < end.load(); ++fd) {
    if (is_ring(fd)) visit(fd, *slot(fd).connection);
  }
}

void before_fork() {
  epoll_watches::before_fork();
  for (std::mutex& lock : locks) lock.lock();
  visit_all([](int, Connection& connection) { connection.share(); });
  for (int fd = 0; fd < end.load(); ++fd) {
    if (is_listener(fd)) slot(fd).listener->share();
  }
}

void after_fork() {
  for (std::mutex& lock : locks) lock.unlock();
  epoll_watches::after_fork();
}

void after_fork_in_child() {
  owner = getpid();
  visit_all([](int, Connection& connection) { connection.forget_threads(); });
  after_fork();
}

__attribute__((constructor)) void own_table() {
  owner = getpid();
  pthread_atfork(before_fork, after_fork, after_fork_in_child);
}

}  // namespace

bool is_own_table() { return owner.load() == getpid(); }

std::shared_ptr<Connection> find_ring(int fd) {
  const std::lock_guard lock(lock_of(fd));
  return is_ring(fd) ? slot(fd).connection : nullptr;
}

std::shared_ptr<Listener> find_listener(int fd) {
  const std::lock_guard lock(lock_of(fd));
  return is_listener(fd) ? slot(fd).listener : nullptr;
}

namespace {

void put_slot(int fd, Kind kind, Slot fresh) {
  if (fd < 0 || fd >= kMax) return;
  int seen = end.load();
  while (seen <= fd && !end.compare_exchange_weak(seen, fd + 1)) {
  }
  const std::lock_guard lock(lock_of(fd));
  kinds[fd] = kind;
  std::swap(slot(fd), fresh);
}  // unlocks before the caller destroys the old objects, whose destructors close descriptors

}  // namespace

void put(int fd, std::shared_ptr<Connection> connection) {
  const Kind kind = connection != nullptr ? Kind::kRing : Kind::kForeign;
  put_slot(fd, kind, {.connection = std::move(connection), .listener = nullptr});
}

void put_listener(int fd, std::shared_ptr<Listener> listener) {
  put_slot(fd, Kind::kListener, {.connection = nullptr, .listener = std::move(listener)});
}

void forget(int fd) {
  drop(fd);
  epoll_watches::forget(fd);
}

void for_each_ring(void (*visit)(void* context, int fd, Connection&), void* context) {
  for (int fd = 0; fd < end.load(); ++fd) {
    if (const auto connection = ring(fd)) visit(context, fd, *connection);
  }
}

void for_each_listener(void (*visit)(int fd, Listener&)) {
  for (int fd = 0; fd < end.load(); ++fd) {
    if (const auto found = listener(fd)) visit(fd, *found);
  }
}

bool listens_at(std::string_view path) {
  for (int fd = 0; fd < end.load(); ++fd) {
    const auto found = listener(fd);
    if (found != nullptr && found->path() == path) return true;
  }
  return false;
}

int hide(int fd) {
  int hidden = real::fcntl(fd, F_DUPFD_CLOEXEC, reinterpret_cast<void*>(intptr_t{kHiddenFrom}));
  if (hidden < 0) hidden = real::fcntl(fd, F_DUPFD_CLOEXEC, nullptr);
  if (hidden >= kMax) {
    real::close(hidden);
    errno = EMFILE;
    return -1;
  }
  if (hidden >= 0) kinds[hidden] = Kind::kHidden;
  return hidden;
}

void close_hidden(int fd) {
  kinds[fd] = Kind::kForeign;
  real::close(fd);
}

}  // namespace hatrpc::preload::descriptors
