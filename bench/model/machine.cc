// SPDX-License-Identifier: Apache-2.0
#include "bench/model/machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hat::model {

Thread::Thread(Machine& machine) : machine_(machine) {}

Time Thread::now() const { return machine_.schedule_.now() + charged_; }

Time Thread::busy() const {
  return busy_ + (polls() ? machine_.schedule_.now() - polls_since_ : Time(0));
}

void Thread::poke(bool wakes) {
  arrive(wakes, machine_.hardware_.interrupt + machine_.hardware_.wake_up);
}

void Thread::wake() {
  arrive(true, machine_.has_idle_core() ? machine_.hardware_.wake_up : Time(0));
}

void Thread::arrive(bool wakes, Time wake_up) {
  poked_ = true;
  woken_ = woken_ || wakes;
  if (polls()) {
    for (size_t core = 0; core < machine_.cores_.size(); ++core) {
      if (machine_.cores_[core].thread != this) continue;
      machine_.at(core, machine_.schedule_.now(), &Machine::end_poll);
    }
  } else if (state_ == State::kSleeping && wakes) {
    state_ = State::kReady;
    machine_.schedule_.at(machine_.schedule_.now() + wake_up,
                          [this] { machine_.make_ready(*this); });
  }
}

Machine::Machine(Schedule& schedule, const Hardware& hardware, uint32_t cores)
    : schedule_(schedule), hardware_(hardware), cores_(cores) {}

void Machine::start(Thread& thread) { make_ready(thread); }

bool Machine::has_idle_core() const {
  return std::ranges::find(cores_, nullptr, &Core::thread) != cores_.end();
}

// Schedules `what` for the thread that has the core now.
void Machine::at(size_t core, Time when, void (Machine::*what)(size_t)) {
  schedule_.at(when, [this, core, what, turn = cores_[core].turn] {
    if (cores_[core].turn == turn) (this->*what)(core);
  });
}

// Gives the thread an idle core, or else the core of a thread that yields, or else a place in the
// queue.
void Machine::make_ready(Thread& thread) {
  thread.state_ = Thread::State::kReady;
  thread.ready_since_ = schedule_.now();
  ready_.push_back(&thread);
  const auto idle = std::ranges::find(cores_, nullptr, &Core::thread);
  if (idle != cores_.end()) return place(static_cast<size_t>(idle - cores_.begin()));
  const auto yields = std::ranges::find_if(
      cores_, [](const Core& core) { return core.thread->state_ == Thread::State::kYielding; });
  if (yields != cores_.end()) release(static_cast<size_t>(yields - cores_.begin()));
}

// Gives a core without a thread to the next one in the queue.
void Machine::place(size_t core) {
  Core& own = cores_[core];
  DCHECK(own.thread == nullptr);
  ++own.turn;
  if (ready_.empty()) return;
  own.thread = ready_.front();
  ready_.pop_front();
  own.thread->state_ = Thread::State::kRunning;
  own.thread->waited_ += schedule_.now() - own.thread->ready_since_;
  own.thread->busy_ += hardware_.switch_thread;
  own.slice_ends = schedule_.now() + hardware_.switch_thread + hardware_.slice;
  at(core, schedule_.now() + hardware_.switch_thread, &Machine::run_step);
  at(core, own.slice_ends, &Machine::end_slice);
}

void Machine::begin_slice(size_t core) {
  cores_[core].slice_ends = schedule_.now() + hardware_.slice;
  at(core, cores_[core].slice_ends, &Machine::end_slice);
}

// Ends the turn of the thread if another one is ready, and otherwise gives it a new slice. If the
// thread is in a step, after_step() does this.
void Machine::end_slice(size_t core) {
  if (ready_.empty()) return begin_slice(core);
  if (cores_[core].thread->polls()) release(core);
}

// Takes the core from its thread, which remains ready, and gives it to the next one.
void Machine::release(size_t core) {
  Thread* thread = cores_[core].thread;
  if (thread->polls()) thread->busy_ += schedule_.now() - thread->polls_since_;
  thread->state_ = Thread::State::kReady;
  thread->ready_since_ = schedule_.now();
  ready_.push_back(thread);
  cores_[core].thread = nullptr;
  place(core);
}

void Machine::run_step(size_t core) {
  Thread& thread = *cores_[core].thread;
  thread.poked_ = thread.woken_ = false;
  thread.charged_ = Time(0);
  const Then then = thread.step();
  const Time charged = std::exchange(thread.charged_, Time(0));
  thread.busy_ += charged;
  schedule_.at(schedule_.now() + charged, [this, core, then, turn = cores_[core].turn] {
    if (cores_[core].turn == turn) after_step(core, then);
  });
}

void Machine::after_step(size_t core, Then then) {
  Core& own = cores_[core];
  Thread& thread = *own.thread;
  if (then == Then::kSleep && !thread.woken_) {
    thread.state_ = Thread::State::kSleeping;
    own.thread = nullptr;
    return place(core);
  }
  if (then == Then::kYield && !ready_.empty()) return release(core);
  if (schedule_.now() >= own.slice_ends) {
    if (!ready_.empty()) return release(core);
    begin_slice(core);
  }
  const bool polls = then == Then::kSpin || then == Then::kYield;
  if (!polls || thread.poked_) return run_step(core);
  thread.state_ = then == Then::kSpin ? Thread::State::kSpinning : Thread::State::kYielding;
  thread.polls_since_ = schedule_.now();
}

// Continues a thread that polls, because something has arrived for it.
void Machine::end_poll(size_t core) {
  Thread& thread = *cores_[core].thread;
  if (!thread.polls()) return;
  thread.busy_ += schedule_.now() - thread.polls_since_;
  thread.state_ = Thread::State::kRunning;
  run_step(core);
}

}  // namespace hat::model
