// SPDX-License-Identifier: Apache-2.0
#include "daemon/reactor/libevent_reactor.h"

#include <glog/logging.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "daemon/reactor/kernel_stream.h"
#include "daemon/reactor/ring_stream.h"

namespace hat {
namespace {

// EVLOOP_ONCE is needed: with EVLOOP_NONBLOCK alone, event_base_loop() returns only when no event
// is ready, which never happens under load.
constexpr int kPoll = EVLOOP_ONCE | EVLOOP_NONBLOCK;
constexpr int kSleep = EVLOOP_ONCE;

// After this time without traffic on a ring, the reactor stops polling it until its doorbell rings.
// Each iteration polls all hot rings, and each sleep arms them. So with more than kHotRings hot
// rings the time is shorter, in inverse proportion to their number, down to kHotTimeMin.
constexpr Duration kHotTime = std::chrono::milliseconds(50);
constexpr Duration kHotTimeMin = std::chrono::milliseconds(2);
constexpr int64_t kHotRings = 64;

Duration hot_time(size_t rings) {
  const auto count = std::max(static_cast<int64_t>(rings), kHotRings);
  return std::max<Duration>(kHotTime * kHotRings / count, kHotTimeMin);
}

// A long yield is lost unless it brings an event for each such part of its time. Many clients
// that take turns on the core make a yield long, and make it bring many events.
constexpr Duration kYieldPerEvent = std::chrono::microseconds(50);

}  // namespace

class KernelTimer final : public Timer {
 public:
  KernelTimer(event_base* base, LibeventReactor& reactor, std::function<void()> on_time)
      : reactor_(reactor), on_time_(std::move(on_time)) {
    evtimer_assign(
        &event_, base,
        [](evutil_socket_t, short, void* self) { static_cast<KernelTimer*>(self)->on_time_(); },
        this);
  }
  ~KernelTimer() override { event_del(&event_); }

  void set(TimePoint when) override {
    const auto us = std::chrono::ceil<std::chrono::microseconds>(when - reactor_.now()).count();
    const auto left = us < 0 ? 0 : us;
    const timeval after{left / 1'000'000, left % 1'000'000};
    event_add(&event_, &after);
  }
  void cancel() override { event_del(&event_); }

 private:
  LibeventReactor& reactor_;
  std::function<void()> on_time_;
  event event_;
};

class KernelWatch final : public Watch {
 public:
  KernelWatch(LibeventReactor& reactor, int fd, std::function<void()> on_readable)
      : reactor_(reactor), on_readable_(std::move(on_readable)) {
    event_assign(
        &event_, reactor.base_.get(), fd, EV_READ | EV_PERSIST,
        [](evutil_socket_t, short, void* self) { static_cast<KernelWatch*>(self)->notify(); },
        this);
    event_add(&event_, nullptr);
  }
  ~KernelWatch() override { event_del(&event_); }

 private:
  void notify() {
    reactor_.note_event();
    on_readable_();
  }

  LibeventReactor& reactor_;
  const std::function<void()> on_readable_;
  event event_;
};

LibeventReactor::LibeventReactor() {
  Owned<event_config, event_config_free> config(event_config_new());
  // Only one thread uses the event base, so it needs no lock. EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST
  // must not be set: with it, libevent removes a descriptor from epoll only after close(2), when
  // another thread may already use the descriptor's number.
  event_config_set_flag(config.get(), EVENT_BASE_FLAG_NOLOCK);
  base_.reset(event_base_new_with_config(config.get()));
  CHECK(base_) << "libevent cannot create an event base: out of memory or descriptors";
  wake_fd_ = Descriptor(eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC));
  PCHECK(wake_fd_.get() >= 0) << "eventfd";
  wake_event_.reset(event_new(
      base_.get(), wake_fd_.get(), EV_READ | EV_PERSIST,
      [](evutil_socket_t, short, void* self) { static_cast<LibeventReactor*>(self)->run_posted(); },
      this));
  event_add(wake_event_.get(), nullptr);
}

LibeventReactor::~LibeventReactor() = default;

void LibeventReactor::run() {
  loop_thread_.enter();
  while (!stopped_) iterate();
  end_iteration();
  loop_thread_.leave();
}

void LibeventReactor::enter() {
  loop_thread_.enter();
  now_is_fresh_ = false;  // other threads have used the time since
}

void LibeventReactor::await_events() {
  assert_in_loop();
  // Calls may_sleep() of every handler, even after one has returned false: may_sleep() also arms
  // the handler's wake-up.
  bool polls = spin_policy_.polls_again(now());
  if (!polls) {
    for (IterationEvents* events : iteration_events_) polls |= !events->may_sleep();
    if (!polls) polls = !arm_rings();
  }
  had_events_ = false;
  if (!polls || asks_kernel()) {
    wait(polls ? kPoll : kSleep);
  }
  disarm_rings();
  poll_rings();
  judge_yield();
  if (polls && !had_events_) yield();
}

void LibeventReactor::poll_events() {
  assert_in_loop();
  had_events_ = false;
  wait(kPoll);
  poll_rings();
}

// Returns true if this iteration polls the sockets. A poll of the sockets costs a system call, and
// a poll of the rings does not. After kQuietPolls polls without a socket event while rings are hot
// (or after poll_sockets_rarely()), the sockets are polled only once in kAskInterval.
bool LibeventReactor::asks_kernel() {
  constexpr uint32_t kQuietPolls = 64;
  constexpr Duration kAskInterval = std::chrono::microseconds(20);
  const bool often = hot_rings_.empty() && asking_ == Asking::kOften;
  return often || ++quiet_polls_ < kQuietPolls || now() - asked_kernel_ >= kAskInterval;
}

// Counts an event. After each event the worker polls at least once before it sleeps: the yield
// after that poll shows whether other threads use the core.
void LibeventReactor::found_work(Duration then_polls_for) {
  constexpr Duration kOnePoll(1);
  ++finds_;
  polled_from_ = {};
  spin_policy_.extend(std::max(then_polls_for, kOnePoll));
}

void LibeventReactor::yield() {
  now_is_fresh_ = false;  // the work of this iteration is not part of the yield
  const TimePoint from = now();
  sched_yield();
  now_is_fresh_ = false;
  const TimePoint to = now();
  last_yield_ = to - from;
  spin_policy_.yielded(last_yield_, to - (polled_from_ == TimePoint{} ? from : polled_from_));
  polled_from_ = to;
  finds_ = 0;
}

// Judges the last yield, after the iteration that followed the yield has found its events.
void LibeventReactor::judge_yield() {
  const Duration yield = std::exchange(last_yield_, Duration::zero());
  if (yield == Duration::zero()) return;
  spin_policy_.judge(
      now(), yield, yield > hatrpc::ring::SpinPolicy::kYieldMax && yield > finds_ * kYieldPerEvent);
}

void LibeventReactor::wait(int flags) {
  // Reads the clock again for the events that follow. A server can answer within the iteration that
  // sent the request, and with the old clock value such a call would seem to take no time.
  asked_kernel_ = now();
  now_is_fresh_ = false;
  // Activates the events that KernelStream::read_again() has requested. If read_again() itself
  // activated them, libevent would deliver them in the poll that is in progress, and not later.
  for (KernelStream* stream : read_again_) stream->activate_again();
  read_again_.clear();
  if (event_base_loop(base_.get(), flags) < 0) LOG(FATAL) << "libevent's loop failed";
  if (had_events_) quiet_polls_ = 0;
}

// Makes every hot ring ask for a doorbell, before a sleep. Returns false if a ring has an event, so
// that the reactor must not sleep. The rings stay hot: when a doorbell has woken the worker, it
// withdraws all requests with disarm_rings(), and polls all hot rings.
bool LibeventReactor::arm_rings() {
  cool_rings(now() - hot_time(hot_rings_.size()));
  rings_are_armed_ = true;
  for (RingStream* ring : hot_rings_) ring->arm();
  return std::ranges::none_of(hot_rings_, [](RingStream* ring) { return ring->has_news(); });
}

void LibeventReactor::disarm_rings() {
  if (!std::exchange(rings_are_armed_, false)) return;
  for (RingStream* ring : hot_rings_) ring->disarm();
}

void LibeventReactor::poll_rings() {
  // A callback can destroy any of these streams, or append hot rings; the loop also polls appended
  // rings.
  for (size_t i = 0; i < hot_rings_.size(); ++i) {
    RingStream* stream = hot_rings_[i];
    if (!stream->has_news()) continue;
    if (!std::exchange(had_events_, true)) now_is_fresh_ = false;
    found_work();
    stream->notify();
    // If a callback removed an entry of hot_rings_, the later entries have moved up by one.
    if (i < hot_rings_.size() && hot_rings_[i] != stream) --i;
  }
  constexpr uint32_t kPollsPerAgeing = 256;
  if (++ring_polls_ % kPollsPerAgeing == 0) {
    cool_rings(now() - hot_time(hot_rings_.size()));
  }
}

void LibeventReactor::cool_rings(TimePoint idle_since) {
  std::erase_if(hot_rings_, [idle_since](RingStream* ring) {
    return ring->hot_since() <= idle_since && ring->cool();
  });
}

void LibeventReactor::stop() {
  post([this] { stopped_ = true; });
}

void LibeventReactor::post(std::function<void()> work) {
  {
    const std::lock_guard lock(posted_mutex_);
    posted_.push_back(std::move(work));
  }
  wake();
}

void LibeventReactor::wake() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(wake_fd_.get(), &one, sizeof one);
}

void LibeventReactor::run_posted() {
  note_event();
  uint64_t count = 0;
  [[maybe_unused]] const auto drained = read(wake_fd_.get(), &count, sizeof count);
  std::vector<std::function<void()>> posted;
  {
    const std::lock_guard lock(posted_mutex_);
    posted.swap(posted_);
  }
  for (const auto& work : posted) work();
}

TimePoint LibeventReactor::now() const {
  if (!now_is_fresh_) {
    now_ = std::chrono::steady_clock::now();
    now_is_fresh_ = true;
  }
  return now_;
}

Duration LibeventReactor::cpu_time() const {
  timespec used{};
  PCHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used) == 0);
  return std::chrono::seconds(used.tv_sec) + Duration(used.tv_nsec);
}

std::unique_ptr<Timer> LibeventReactor::timer(std::function<void()> on_time) {
  assert_in_loop();
  return std::make_unique<KernelTimer>(base_.get(), *this, std::move(on_time));
}

std::unique_ptr<Watch> LibeventReactor::watch(int descriptor, std::function<void()> on_readable) {
  assert_in_loop();
  return std::make_unique<KernelWatch>(*this, descriptor, std::move(on_readable));
}

void LibeventReactor::poll_for(Duration time) {
  assert_in_loop();
  found_work(time);
}

void LibeventReactor::end_iteration() {
  for (IterationEvents* events : iteration_events_) events->on_iteration_end();
}

void LibeventReactor::add_iteration_events(IterationEvents& events) {
  assert_in_loop();
  iteration_events_.push_back(&events);
}

void LibeventReactor::remove_iteration_events(IterationEvents& events) {
  assert_in_loop();
  std::erase(iteration_events_, &events);
}

}  // namespace hat
