// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/keeper.h"

#include <algorithm>
#include <csignal>
#include <utility>

namespace hatrpc::rdma {
namespace {

// Starts a thread that receives no signals: they are for the application's threads.
template <class Run>
std::thread quiet_thread(const char* name, Run run) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread(run);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_setname_np(thread.native_handle(), name);
  return thread;
}

}  // namespace

// --- Clients ---

std::shared_ptr<ClientKeeper> ClientKeeper::get() {
  // Never destroyed: a client can end after the destructors of static objects.
  static auto* const mutex = new std::mutex;
  static auto* const keeper = new std::weak_ptr<ClientKeeper>;
  const std::lock_guard lock(*mutex);
  auto existing = keeper->lock();
  if (existing) return existing;
  std::shared_ptr<ClientKeeper> made(new ClientKeeper);
  *keeper = made;
  return made;
}

ClientKeeper::ClientKeeper() : thread_(quiet_thread("hatrpc-keeper", [this] { run(); })) {}

ClientKeeper::~ClientKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopped_.notify_one();
  thread_.join();
}

void ClientKeeper::add(std::shared_ptr<SharedLoop> loop) {
  const std::lock_guard lock(mutex_);
  loops_.push_back({std::move(loop)});
}

void ClientKeeper::remove(const SharedLoop& loop) {
  const std::lock_guard lock(mutex_);
  std::erase_if(loops_, [&](const Kept& kept) { return kept.loop.get() == &loop; });
}

void ClientKeeper::run() {
  std::unique_lock lock(mutex_);
  while (!stopped_.wait_for(lock, kInterval, [this] { return stops_; })) {
    for (Kept& kept : loops_) {
      const uint64_t turns = kept.loop->turns();
      // A thread of the application that has led since the last turn has done the work.
      if (std::exchange(kept.turns, turns) == turns) kept.loop->tick();
    }
  }
}

// --- Servers ---

ServerKeeper::ServerKeeper(std::shared_ptr<SharedLoop> loop, std::function<bool()> ended)
    : loop_(std::move(loop)),
      ended_(std::move(ended)),
      thread_(quiet_thread("hatrpc-server", [this] { run(); })) {}

ServerKeeper::~ServerKeeper() {
  {
    const std::lock_guard lock(mutex_);
    stops_ = true;
  }
  stopped_.notify_one();
  loop_->interrupt();
  thread_.join();
}

bool ServerKeeper::must_end() {
  if (!has_ended_ && ended_()) has_ended_ = true;
  return has_ended_ || stops_;
}

void ServerKeeper::run() {
  uint64_t turns = loop_->turns();
  while (!stops_ && !has_ended_) {
    const uint64_t now = loop_->turns();
    const bool is_quiet = std::exchange(turns, now) == now;
    if (is_quiet) loop_->keep([this] { return must_end(); });
    std::unique_lock lock(mutex_);
    stopped_.wait_for(lock, is_quiet ? kInterval : kPatience, [this] { return stops_.load(); });
  }
}

}  // namespace hatrpc::rdma
