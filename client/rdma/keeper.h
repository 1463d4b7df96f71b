// SPDX-License-Identifier: Apache-2.0
// client/rdma/keeper.h: keeps shared loops (shared_loop.h) alive while no thread of the application
// waits in them: answers the peer's pings, creates lanes, accepts what a peer opens.
//
// A client's loop gets its turn from one thread of the process every kInterval: nothing in it is
// urgent, because calls only arrive with a thread that waits. A server's loop has a thread of its
// own, which sleeps in the loop while no thread of the application waits there.
#pragma once

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "client/rdma/shared_loop.h"

namespace hatrpc::rdma {

// Gives turns to the loops of all clients of this process, on a thread that exists as long as a
// client has a pointer to the object.
//
// Thread   any.
class ClientKeeper {
 public:
  static constexpr auto kInterval = std::chrono::milliseconds(50);

  // Returns the keeper of this process.
  static std::shared_ptr<ClientKeeper> get();
  ~ClientKeeper();

  void add(std::shared_ptr<SharedLoop> loop);
  // Gives the loop no more turns, also none that still runs when this returns.
  void remove(const SharedLoop& loop);

 private:
  struct Kept {
    std::shared_ptr<SharedLoop> loop;
    uint64_t turns = 0;  // when the keeper last looked
  };

  ClientKeeper();
  void run();

  std::mutex mutex_;  // protects the members below
  std::condition_variable stopped_;
  bool stops_ = false;
  std::vector<Kept> loops_;
  std::thread thread_;
};

// Runs the thread of a server's loop.
class ServerKeeper {
 public:
  // No thread of the application must have begun to lead for this time before the keeper leads:
  // else it would take the lead whenever such a thread executes a short call.
  static constexpr auto kPatience = std::chrono::milliseconds(5);
  // How often the keeper looks whether a thread of the application still leads.
  static constexpr auto kInterval = std::chrono::milliseconds(20);

  // Begins. Calls `ended` in the loop after iterations; if it returns true, the thread ends.
  ServerKeeper(std::shared_ptr<SharedLoop> loop, std::function<bool()> ended);
  ~ServerKeeper();

  // Returns true if `ended` has returned true.
  bool has_ended() const { return has_ended_; }

 private:
  void run();
  bool must_end();

  const std::shared_ptr<SharedLoop> loop_;
  const std::function<bool()> ended_;
  std::mutex mutex_;
  std::condition_variable stopped_;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> has_ended_ = false;
  std::thread thread_;
};

}  // namespace hatrpc::rdma
