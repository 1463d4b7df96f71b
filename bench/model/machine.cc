// SPDX-License-Identifier: Apache-2.0
#include "bench/model/machine.h"

#include <algorithm>
#include <utility>

#include "base/check.h"

namespace hat::model {

Thread::Thread(Machine& machine) : machine_(machine) {}

Time Thread::now() const { return machine_.schedule_.now() + charged_; }

Time Thread::busy() const {
  const bool spins = state_ == State::kSpinning;
  return busy_ + (spins ? machine_.schedule_.now() - spins_since_ : Time(0));
}

void Thread::poke(bool wakes) {
  poked_ = true;
  woken_ = woken_ || wakes;
  if (state_ == State::kSpinning) {
    for (size_t core = 0; core < machine_.cores_.size(); ++core) {
      if (machine_.cores_[core].thread != this) continue;
      machine_.at(core, machine_.schedule_.now(), &Machine::end_spin);
    }
  } else if (state_ == State::kSleeping && wakes) {
    state_ = State::kReady;
    const Time wake_up = machine_.hardware_.interrupt + machine_.hardware_.wake_up;
    machine_.schedule_.at(machine_.schedule_.now() + wake_up,
                          [this] { machine_.make_ready(*this); });
  }
}

Machine::Machine(Schedule& schedule, const Hardware& hardware, uint32_t cores)
    : schedule_(schedule), hardware_(hardware), cores_(cores) {}

void Machine::start(Thread& thread) { make_ready(thread); }

// Schedules `what` for the thread that has the core now.
void Machine::at(size_t core, Time when, void (Machine::*what)(size_t)) {
  schedule_.at(when, [this, core, what, turn = cores_[core].turn] {
    if (cores_[core].turn == turn) (this->*what)(core);
  });
}

// Gives the thread an idle core, or else a place in the queue.
void Machine::make_ready(Thread& thread) {
  thread.state_ = Thread::State::kReady;
  ready_.push_back(&thread);
  const auto idle = std::ranges::find(cores_, nullptr, &Core::thread);
  if (idle != cores_.end()) place(static_cast<size_t>(idle - cores_.begin()));
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
  if (cores_[core].thread->state_ == Thread::State::kSpinning) release(core);
}

// Takes the core from its thread, which remains ready, and gives it to the next one.
void Machine::release(size_t core) {
  Thread* thread = cores_[core].thread;
  if (thread->state_ == Thread::State::kSpinning)
    thread->busy_ += schedule_.now() - thread->spins_since_;
  thread->state_ = Thread::State::kReady;
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
  if (schedule_.now() >= own.slice_ends) {
    if (!ready_.empty()) return release(core);
    begin_slice(core);
  }
  if (then != Then::kSpin || thread.poked_) return run_step(core);
  thread.state_ = Thread::State::kSpinning;
  thread.spins_since_ = schedule_.now();
}

// Continues a thread that spins, because something has arrived for it.
void Machine::end_spin(size_t core) {
  Thread& thread = *cores_[core].thread;
  if (thread.state_ != Thread::State::kSpinning) return;
  thread.busy_ += schedule_.now() - thread.spins_since_;
  thread.state_ = Thread::State::kRunning;
  run_step(core);
}

}  // namespace hat::model
