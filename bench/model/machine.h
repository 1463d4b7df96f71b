// SPDX-License-Identifier: Apache-2.0
// bench/model/machine.h: a modelled host: cores, and threads that a scheduler places on them.
//
// A modelled thread runs real code in steps. The code of a step runs at once, and charges the
// processor time that it would take on the modelled host. The thread's next step begins when this
// time is over. So a thread that computes for long delays the other threads of its core, and its
// own next look at its completion queue.
//
//   ready ──▶ running ──▶ spinning or yielding (polls, found nothing) ──▶ running
//     ▲          │
//     └──────────┴──▶ sleeping ──▶ ready
//
// A thread that spins keeps its core until its time slice ends and another thread is ready. A
// thread that yields gives up its core as soon as another thread waits for this core. Meanwhile the
// model runs no steps: the thread continues when something has arrived for it, or when it gets a
// core again.
//
// As in Linux, each core has a queue of its own threads that are ready. A thread that wakes gets an
// idle core if there is one, and otherwise a place in the queue of the core whose thread has woken
// it, or else of the core on which it ran last. A core without a ready thread takes one of another
// queue. From time to time the longest queue gives a thread to the shortest one.
//
// The code of a step stores into memory when the step begins. So a message that is ready only after
// computing must be sent by a later step.
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <deque>
#include <utility>
#include <vector>

#include "bench/model/hardware.h"
#include "bench/model/schedule.h"

namespace hat::model {

class Machine;

// The state of a thread after a step.
enum class Then : uint8_t {
  kMore,   // it found work, and looks for more at once
  kSpin,   // it found nothing, and polls
  kYield,  // it found nothing, polls, and yields its core between two polls
  kSleep,  // it found nothing, and waits for an event
};

class Thread {
 public:
  explicit Thread(Machine& machine);
  virtual ~Thread() = default;
  Thread(const Thread&) = delete;
  Thread& operator=(const Thread&) = delete;

  Machine& machine() { return machine_; }
  // Adds to the processor time of the step that runs now.
  void charge(Time cost) { charged_ += cost; }
  // Returns the time at which the code that runs now would run on the modelled host.
  Time now() const;
  // Reports that a card has something for the thread. If the thread sleeps and `wakes` is true, an
  // interrupt wakes it, as wake() does.
  void poke(bool wakes);
  // Reports that the thread `by` of the host (nullptr: no thread) has something for the thread, and
  // wakes it if it sleeps. The thread is ready at once, or after the time Hardware::wake_up if it
  // gets an idle core.
  void wake(const Thread* by = nullptr);
  bool sleeps() const { return state_ == State::kSleeping; }
  // Returns for how long the thread was ready without a core since the last call.
  Time take_wait() { return std::exchange(waited_, Time(0)); }
  // Returns the processor time that the thread has used so far, with the time that it spins.
  Time busy() const;

 protected:
  virtual Then step() = 0;

 private:
  friend class Machine;
  enum class State : uint8_t { kReady, kRunning, kSpinning, kYielding, kSleeping };
  void arrive(bool wakes, Time wake_up);
  bool polls() const { return state_ == State::kSpinning || state_ == State::kYielding; }

  Machine& machine_;
  size_t core_ = 0;  // runs it, or has it in its queue, or ran it last
  State state_ = State::kReady;
  bool poked_ = false;  // since its last step began
  bool woken_ = false;  // the same, but by an event that wakes
  Time charged_{};      // in the step that runs now
  Time busy_{};
  Time polls_since_{};  // if it spins or yields
  Time ready_since_{};  // if it is ready
  Time waited_{};       // was ready without a core since take_wait()
};

class Machine {
 public:
  Machine(Schedule& schedule, const Hardware& hardware, uint32_t cores);

  Schedule& schedule() { return schedule_; }
  const Hardware& hardware() const { return hardware_; }
  bool has_idle_core() const;
  void start(Thread& thread);

 private:
  friend class Thread;
  struct Core {
    Thread* thread = nullptr;
    Time slice_ends{};
    uint64_t turn = 0;  // counts the threads that ran, so that events of earlier turns do nothing
    std::deque<Thread*> ready;
  };

  void make_ready(Thread& thread);
  Time wake_up() const;
  void move_first(Core& from, Core& to);
  void balance();
  void place(size_t core);
  void run_step(size_t core);
  void after_step(size_t core, Then then);
  void end_poll(size_t core);
  void begin_slice(size_t core);
  void end_slice(size_t core);
  void release(size_t core);
  void at(size_t core, Time when, void (Machine::*what)(size_t));

  Schedule& schedule_;
  const Hardware& hardware_;
  std::vector<Core> cores_;
  size_t started_ = 0;  // threads
  Time balanced_{};
};

}  // namespace hat::model
