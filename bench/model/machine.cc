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

void Thread::poke(bool wakes) { arrive(wakes, machine_.hardware_.interrupt + machine_.wake_up()); }

void Thread::wake(const Thread* by) {
  if (state_ == State::kSleeping && by != nullptr && by->state_ == State::kRunning) {
    DCHECK(&by->machine_ == &machine_);
    core_ = by->core_;
  }
  arrive(true, machine_.wake_up());
}

void Thread::arrive(bool wakes, Time wake_up) {
  poked_ = true;
  woken_ = woken_ || wakes;
  if (polls()) {
    machine_.at(core_, machine_.schedule_.now(), &Machine::end_poll);
  } else if (state_ == State::kSleeping && wakes) {
    state_ = State::kReady;
    machine_.schedule_.at(machine_.schedule_.now() + wake_up,
                          [this] { machine_.make_ready(*this); });
  }
}

Machine::Machine(Schedule& schedule, const Hardware& hardware, uint32_t cores)
    : schedule_(schedule), hardware_(hardware), cores_(cores) {}

// Divides the threads equally among the cores.
void Machine::start(Thread& thread) {
  thread.core_ = started_++ % cores_.size();
  make_ready(thread);
}

Time Machine::wake_up() const { return has_idle_core() ? hardware_.wake_up : Time(0); }

bool Machine::has_idle_core() const {
  return std::ranges::find(cores_, nullptr, &Core::thread) != cores_.end();
}

// Schedules `what` for the thread that has the core now.
void Machine::at(size_t core, Time when, void (Machine::*what)(size_t)) {
  schedule_.at(when, [this, core, what, turn = cores_[core].turn] {
    if (cores_[core].turn == turn) (this->*what)(core);
  });
}

// Gives the thread its core if that is idle, or else another idle core, or else its core if the
// thread there yields, or else a place in the queue of its core.
void Machine::make_ready(Thread& thread) {
  if (cores_[thread.core_].thread != nullptr) {
    const auto idle = std::ranges::find(cores_, nullptr, &Core::thread);
    if (idle != cores_.end()) thread.core_ = static_cast<size_t>(idle - cores_.begin());
  }
  Core& own = cores_[thread.core_];
  thread.state_ = Thread::State::kReady;
  thread.ready_since_ = schedule_.now();
  own.ready.push_back(&thread);
  if (own.thread == nullptr) return place(thread.core_);
  if (own.thread->state_ == Thread::State::kYielding) release(thread.core_);
}

// Moves the first thread of a core's queue to another core's.
void Machine::move_first(Core& from, Core& to) {
  Thread* thread = from.ready.front();
  from.ready.pop_front();
  thread->core_ = static_cast<size_t>(&to - cores_.data());
  to.ready.push_back(thread);
}

// Moves a thread from the longest queue to the shortest one, if the difference is more than one
// thread, and if this was not done for a while.
void Machine::balance() {
  constexpr Time kInterval = std::chrono::milliseconds(1);
  if (schedule_.now() < balanced_ + kInterval) return;
  balanced_ = schedule_.now();
  const auto [shortest, longest] =
      std::ranges::minmax_element(cores_, {}, [](const Core& core) { return core.ready.size(); });
  if (longest->ready.size() < shortest->ready.size() + 2) return;
  move_first(*longest, *shortest);
  const Thread* thread = shortest->thread;
  if (thread != nullptr && thread->state_ == Thread::State::kYielding) release(thread->core_);
}

// Gives a core without a thread to the next one of its queue, or else of the longest queue.
void Machine::place(size_t core) {
  balance();
  Core& own = cores_[core];
  DCHECK(own.thread == nullptr);
  ++own.turn;
  if (own.ready.empty()) {
    const auto longest =
        std::ranges::max_element(cores_, {}, [](const Core& other) { return other.ready.size(); });
    if (longest->ready.empty()) return;
    move_first(*longest, own);
  }
  own.thread = own.ready.front();
  own.ready.pop_front();
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
  const uint64_t turn = cores_[core].turn;
  balance();
  if (cores_[core].turn != turn) return;
  if (cores_[core].ready.empty()) return begin_slice(core);
  if (cores_[core].thread->polls()) release(core);
}

// Takes the core from its thread, which remains ready, and gives it to the next one.
void Machine::release(size_t core) {
  Thread* thread = cores_[core].thread;
  if (thread->polls()) thread->busy_ += schedule_.now() - thread->polls_since_;
  thread->state_ = Thread::State::kReady;
  thread->ready_since_ = schedule_.now();
  cores_[core].ready.push_back(thread);
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
  if (then == Then::kYield && !own.ready.empty()) return release(core);
  if (schedule_.now() >= own.slice_ends) {
    if (!own.ready.empty()) return release(core);
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
