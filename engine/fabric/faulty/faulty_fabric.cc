// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/faulty/faulty_fabric.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include <algorithm>
#include <deque>
#include <random>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hat::engine {
namespace {

using Clock = std::chrono::steady_clock;
using Random = std::minstd_rand;

class FaultyQueuePair;

// A completion queue that takes the completions of another queue, `below_`, and returns each only
// after a random delay.
class FaultyCompletionQueue final : public CompletionQueue {
 public:
  FaultyCompletionQueue(std::unique_ptr<CompletionQueue> below, const Faults& faults, uint64_t seed)
      : below_(std::move(below)),
        faults_(faults),
        random_(static_cast<Random::result_type>(seed)),
        timer_(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC)),
        both_(epoll_create1(EPOLL_CLOEXEC)) {
    for (const int fd : {below_->event_fd(), timer_}) {
      epoll_event event{.events = EPOLLIN, .data = {.fd = fd}};
      epoll_ctl(both_, EPOLL_CTL_ADD, fd, &event);
    }
  }
  ~FaultyCompletionQueue() override {
    close(both_);
    close(timer_);
  }

  size_t poll(std::span<Completion> into) override;
  void arm(bool solicited_only) override {
    below_->arm(solicited_only);
    if (!held_.empty()) ring_at(held_.front().due);
  }
  int event_fd() const override { return both_; }
  Result<void> resize(uint32_t entries) override { return below_->resize(entries); }
  void take_events() override {
    below_->take_events();
    uint64_t rings = 0;
    [[maybe_unused]] const auto got = read(timer_, &rings, sizeof rings);
  }

  CompletionQueue& below() { return *below_; }
  void attach(FaultyQueuePair& pair);
  // Forgets a queue pair that is about to be destroyed. Keeps the completions of its receives, with
  // queue_pair 0.
  void detach(FaultyQueuePair& pair);
  // Adds the completion of a request or receive that a silent queue pair has dropped, and that
  // `below_` therefore does not complete.
  void report(const Completion& completion) {
    held_.push_back({Clock::now(), completion});
    ring_at(Clock::now());
  }

 private:
  struct Held {
    Clock::time_point due;
    Completion completion;
  };

  void hold(const Completion& completion);
  void ring_at(Clock::time_point when) const {
    const auto wait = std::max(when - Clock::now(), Clock::duration(1));
    itimerspec setting{};
    setting.it_value.tv_sec = static_cast<time_t>(wait / std::chrono::seconds(1));
    setting.it_value.tv_nsec = static_cast<long>((wait % std::chrono::seconds(1)).count());
    timerfd_settime(timer_, 0, &setting, nullptr);
  }

  const std::unique_ptr<CompletionQueue> below_;
  const Faults faults_;
  Random random_;
  const int timer_;
  const int both_;
  std::deque<Held> held_;
  std::unordered_map<uint32_t, FaultyQueuePair*> pairs_;
};

class FaultyQueuePair final : public QueuePair {
 public:
  FaultyQueuePair(std::unique_ptr<QueuePair> below, FaultyCompletionQueue& send_cq,
                  FaultyCompletionQueue& recv_cq, const QueuePairOptions& options,
                  const Faults& faults, Random random)
      : below_(std::move(below)),
        send_cq_(send_cq),
        recv_cq_(recv_cq),
        send_entries_(options.send_entries),
        cut_at_(pick(faults.cut_within, random)),
        silent_at_(pick(faults.silent_within, random)) {
    send_cq_.attach(*this);
    recv_cq_.attach(*this);
  }
  ~FaultyQueuePair() override {
    report_dropped_receives();
    send_cq_.detach(*this);
    recv_cq_.detach(*this);
  }

  uint32_t number() const override { return below_->number(); }
  QueuePairAddress address() const override { return below_->address(); }
  Result<void> connect(const QueuePairAddress& other) override { return below_->connect(other); }
  QueuePairState state() const override { return below_->state(); }
  size_t post(std::span<const WorkRequest> chain) override {
    size_t posted = 0;
    while (posted < chain.size() && post_one(chain[posted])) ++posted;
    return posted;
  }
  bool settled() const override { return below_->settled(); }
  void fail() override {
    below_->fail();
    report_dropped_receives();
    for (const WorkRequest& work : std::exchange(swallowed_, {})) {
      send_cq_.report({.id = work.id,
                       .status = Status::kFlushed,
                       .opcode = work.opcode,
                       .queue_pair = number()});
    }
  }

  // Applies this queue pair's faults to a completion of the wrapped fabric. After a cut, the first
  // flushed request gets the status kRetryExceeded. Returns false if poll() must not return the
  // completion: it reports a success, but the queue pair is silent.
  bool pass(Completion& completion) {
    if (completion.status == Status::kFlushed && std::exchange(was_cut_, false)) {
      completion.status = Status::kRetryExceeded;
    }
    if (!silent() || completion.status != Status::kSuccess) return true;
    if (is_receive(completion.opcode)) dropped_receives_.push_back(completion.id);
    return false;
  }

 private:
  static uint64_t pick(uint64_t within, Random& random) {
    return within == 0 ? 0 : 1 + random() % within;
  }
  bool silent() const { return silent_at_ != 0 && requests_ >= silent_at_; }
  // Returns the receives whose messages were dropped, because their memory belongs to the caller.
  void report_dropped_receives() {
    for (const uint64_t id : std::exchange(dropped_receives_, {})) {
      recv_cq_.report({.id = id,
                       .status = Status::kFlushed,
                       .opcode = Opcode::kReceive,
                       .queue_pair = number()});
    }
  }

  bool post_one(const WorkRequest& work) {
    if (silent() && state() == QueuePairState::kConnected) {
      if (swallowed_.size() == send_entries_) return false;
      swallowed_.push_back(work);
      swallowed_.back().segments = {};  // the caller's segments are valid only until post() returns
      return true;
    }
    if (below_->post({&work, 1}) == 0) return false;
    if (++requests_ == cut_at_) {
      was_cut_ = true;
      below_->fail();
    }
    return true;
  }

  const std::unique_ptr<QueuePair> below_;
  FaultyCompletionQueue& send_cq_;
  FaultyCompletionQueue& recv_cq_;
  const uint32_t send_entries_;
  const uint64_t cut_at_;
  const uint64_t silent_at_;
  uint64_t requests_ = 0;
  bool was_cut_ = false;
  std::vector<WorkRequest> swallowed_;
  std::vector<uint64_t> dropped_receives_;  // the ids of consumed receives; at most all receives
};

void FaultyCompletionQueue::attach(FaultyQueuePair& pair) { pairs_[pair.number()] = &pair; }

void FaultyCompletionQueue::detach(FaultyQueuePair& pair) {
  pairs_.erase(pair.number());
  std::erase_if(held_, [&](const Held& held) {
    return held.completion.queue_pair == pair.number() && !is_receive(held.completion.opcode);
  });
  for (Held& held : held_) {
    if (held.completion.queue_pair == pair.number()) held.completion.queue_pair = 0;
  }
}

void FaultyCompletionQueue::hold(const Completion& completion) {
  const auto most = static_cast<uint64_t>(faults_.delay_max.count());
  const std::chrono::nanoseconds delay(most == 0 ? 0 : random_() % most);
  const auto due = Clock::now() + delay;
  held_.push_back({held_.empty() ? due : std::max(due, held_.back().due), completion});
}

size_t FaultyCompletionQueue::poll(std::span<Completion> into) {
  std::array<Completion, 16> some;
  for (size_t count = some.size(); count == some.size();) {
    count = below_->poll(some);
    for (Completion& completion : std::span(some).first(count)) {
      const auto pair = pairs_.find(completion.queue_pair);
      const bool wanted =
          pair == pairs_.end() ? is_receive(completion.opcode) : pair->second->pass(completion);
      if (wanted) hold(completion);
    }
  }
  const auto now = Clock::now();
  size_t found = 0;
  while (found < into.size() && !held_.empty() && held_.front().due <= now) {
    into[found++] = held_.front().completion;
    held_.pop_front();
  }
  return found;
}

class FaultyFabric final : public Fabric {
 public:
  FaultyFabric(std::unique_ptr<Fabric> below, const Faults& faults)
      : below_(std::move(below)),
        faults_(faults),
        random_(static_cast<Random::result_type>(faults.seed)) {}

  std::string_view name() const override { return below_->name(); }
  std::string reach() const override { return below_->reach(); }
  FabricLimits limits() const override { return below_->limits(); }
  // The domain has the same kinds of faults, and chooses them by a seed of its own.
  Result<std::unique_ptr<Fabric>> open_domain() override {
    HAT_TRY(auto domain, below_->open_domain());
    Faults faults = faults_;
    faults.seed = random_();
    return std::make_unique<FaultyFabric>(std::move(domain), faults);
  }
  Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                        RemoteAccess access) override {
    HAT_TRY_VOID(perhaps("registration of memory"));
    return below_->register_memory(memory, access);
  }
  Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) override {
    HAT_TRY_VOID(perhaps("registration of memory"));
    return below_->register_own(memory);
  }
  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override {
    HAT_TRY_VOID(perhaps("completion queue"));
    HAT_TRY(auto queue, below_->create_completion_queue(entries));
    return std::make_unique<FaultyCompletionQueue>(std::move(queue), faults_, random_());
  }
  Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) override {
    HAT_TRY_VOID(perhaps("receive queue"));
    return below_->create_receive_queue(entries);
  }
  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    HAT_TRY_VOID(perhaps("queue pair"));
    auto& send_cq = static_cast<FaultyCompletionQueue&>(options.send_cq);
    auto& recv_cq = static_cast<FaultyCompletionQueue&>(options.recv_cq);
    HAT_TRY(auto pair,
            below_->create_queue_pair(options.with(send_cq.below(), recv_cq.below(), options.srq)));
    return std::make_unique<FaultyQueuePair>(std::move(pair), send_cq, recv_cq, options, faults_,
                                             Random(random_()));
  }
  int event_fd() const override { return below_->event_fd(); }
  std::optional<FabricEvent> next_event() override { return below_->next_event(); }

 private:
  Result<void> perhaps(const char* what) {
    if (random_() % 100 >= faults_.refused_percent) return {};
    return fail(ErrorCode::kExhausted,
                std::string("faulty fabric: this ") + what +
                    " fails on purpose; remove fabric.faults from the configuration");
  }

  const std::unique_ptr<Fabric> below_;
  const Faults faults_;
  Random random_;
};

}  // namespace

std::unique_ptr<Fabric> make_faulty(std::unique_ptr<Fabric> fabric, const Faults& faults) {
  return std::make_unique<FaultyFabric>(std::move(fabric), faults);
}

}  // namespace hat::engine
