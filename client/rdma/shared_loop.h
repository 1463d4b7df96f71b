// SPDX-License-Identifier: Apache-2.0
// client/rdma/shared_loop.h: an event loop without a thread of its own. A thread of the application
// that waits for a message runs the loop itself, so that no other thread must be woken when the
// message arrives.
//
// At most one thread leads at a time: it runs the iterations. If several threads wait, the others
// follow: they sleep until they have news, or until the leader leaves and one of them leads.
//
//   no leader ◀──▶ a thread of the application leads, while it waits
//           ▲ ◀──▶ the keeper leads, while no thread of the application waits (keeper.h)
//           └────▶ in_loop()
//
// Objects of the loop (streams, timers, workers) may be used only by the thread that leads.
//
// Thread   any thread; reactor() only for the thread that leads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "client/rdma/application_reactor.h"

namespace hatrpc::rdma {

// A receiver of news that threads of the application have for the loop.
class LoopClient {
 public:
  virtual ~LoopClient() = default;
  // Handles the news, in the loop. Returns true if the next iteration must call it again.
  virtual bool on_news() = 0;
};

// The place at which one thread of the application waits at a time.
class Waiter {
  friend class SharedLoop;
  std::condition_variable wake_;
  bool woken_ = false;
};

class SharedLoop final : private hat::IterationEvents {
 public:
  static constexpr hat::TimePoint kNever = hat::TimePoint::max();  // as a deadline: no time-out

  SharedLoop();
  ~SharedLoop() override;

  ApplicationReactor& reactor() { return reactor_; }

  // Calls `work` while this thread leads. A thread that leads now makes way for it.
  template <class Work>
  void in_loop(Work work) {
    take_lead();
    work();
    give_lead();
  }

  // Leads or follows until `done()` returns true. Returns false if `deadline` passes first. `done`
  // is called by this thread, also while it does not lead.
  template <class Done>
  bool run_until(Waiter& waiter, Done done, hat::TimePoint deadline) {
    while (!done()) {
      const bool in_time = begin_to_lead() ? lead(done, deadline) : follow(waiter, done, deadline);
      if (!in_time) return done();
    }
    return true;
  }

  // Leads until `done()` returns true. Returns false if `deadline` passes first. `done` is called
  // only while this thread leads.
  template <class Done>
  bool lead_until(Done done, hat::TimePoint deadline) {
    bool is_done = false;
    const auto ask = [&] { return is_done = done(); };
    bool in_time = true;
    while (!is_done && in_time) {
      take_lead();
      in_time = lead(ask, deadline);
    }
    return is_done;
  }

  // Wakes the thread that follows at `waiter`, if there is one, because its `done()` may return
  // true now.
  void wake(Waiter& waiter);
  // Makes the next iteration call `client->on_news()`. Does not cause an iteration if no thread
  // leads: call flush() then.
  void note(std::shared_ptr<LoopClient> client);
  // Runs one iteration if no thread leads.
  void flush();

  // --- For the keeper ---
  // Returns how often threads of the application have begun to lead.
  uint64_t turns() const { return turns_.load(std::memory_order_relaxed); }
  // Handles the events that are ready, if no thread leads.
  void tick();
  // Leads, if no thread does, and sleeps in the loop, until a thread of the application needs the
  // loop or `ends()` returns true. interrupt() makes it call `ends()`.
  template <class Ends>
  void keep(Ends ends) {
    if (!begin_to_lead(Leader::kKeeper)) return;
    lead(ends, kNever);
  }
  void interrupt() { reactor_.wake(); }

 private:
  enum class Leader : uint8_t { kNone, kApplication, kKeeper };

  // Makes this thread lead. Returns false if another thread of the application leads or is about
  // to; a keeper that leads makes way.
  bool begin_to_lead(Leader as = Leader::kApplication);
  void take_lead();
  void lead_as(Leader leader);
  void give_lead();
  void offer_lead();
  void make_leader_leave();
  bool is_wanted() const { return wanted_.load(std::memory_order_relaxed) != 0; }

  // Runs iterations until `done()` returns true or another thread needs the loop, and stops
  // leading. Returns false if `deadline` has passed.
  template <class Done>
  bool lead(Done&& done, hat::TimePoint deadline) {
    deadline_ = deadline;
    bool in_time = true;
    while (in_time) {
      reactor_.end_iteration();
      if (done() || is_wanted()) break;
      reactor_.await_events();
      in_time = deadline == kNever || reactor_.now() < deadline;
    }
    give_lead();
    return in_time;
  }

  // Sleeps until this thread has news or may lead. Returns false if `deadline` has passed.
  template <class Done>
  bool follow(Waiter& waiter, Done& done, hat::TimePoint deadline) {
    if (!join(waiter)) return true;
    // Asks again: nobody has woken this thread for what arrived before it joined.
    const bool in_time = done() || sleep(waiter, deadline);
    leave(waiter, !in_time || done());
    return in_time;
  }
  bool join(Waiter& waiter);
  bool sleep(Waiter& waiter, hat::TimePoint deadline);
  void leave(Waiter& waiter, bool gives_up);

  void on_iteration_end() override;
  bool may_sleep() override;

  ApplicationReactor reactor_;
  // Used only by the thread that leads:
  hat::TimePoint deadline_ = kNever;
  std::unique_ptr<hat::Timer> deadline_timer_;
  std::vector<std::shared_ptr<LoopClient>> active_;  // on_news() is called in the next iteration
  std::vector<std::shared_ptr<LoopClient>> called_;  // those that it is called for now

  std::atomic<uint64_t> turns_{0};
  std::atomic<uint32_t> wanted_{0};  // how many threads wait for `vacant_`

  std::mutex mutex_;  // protects the members below, and changes of `wanted_`
  Leader leader_ = Leader::kNone;
  bool is_asleep_ = false;  // the leader sleeps, or is about to
  std::condition_variable vacant_;
  std::vector<Waiter*> followers_;
  std::vector<std::shared_ptr<LoopClient>> noted_;
};

}  // namespace hatrpc::rdma
