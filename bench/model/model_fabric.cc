// SPDX-License-Identifier: Apache-2.0
#include "bench/model/model_fabric.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

#include "base/check.h"

namespace hat::model {

using engine::Completion;
using engine::Opcode;
using engine::QueuePairAddress;
using engine::QueuePairState;
using engine::Segment;
using engine::WorkRequest;

namespace {

constexpr uint64_t kReadRequestBytes = 16;
constexpr uint64_t kBelow = ~uint64_t{0};  // the id of each request of the fabric below

uint64_t bytes_of(const WorkRequest& work) {
  uint64_t bytes = 0;
  for (const Segment& segment : work.segments) bytes += segment.bytes;
  return bytes;
}

}  // namespace

class ModelQueuePair final : public engine::QueuePair {
 public:
  ModelQueuePair(std::unique_ptr<engine::QueuePair> below, ModelCompletionQueue& send_cq,
                 ModelCompletionQueue& recv_cq, ModelFabric& fabric, Card& card, QueuePairs& pairs,
                 uint32_t entries)
      : below_(std::move(below)),
        fabric_(fabric),
        send_cq_(send_cq),
        recv_cq_(recv_cq),
        card_(card),
        pairs_(pairs),
        entries_(entries) {
    pairs_[address()] = this;
  }
  ~ModelQueuePair() override { pairs_.erase(address()); }

  uint32_t number() const override { return below_->number(); }
  QueuePairAddress address() const override { return below_->address(); }
  Result<void> connect(const QueuePairAddress& other) override {
    other_ = other;
    return below_->connect(other);
  }
  QueuePairState state() const override { return below_->state(); }
  void fail() override { below_->fail(); }
  bool settled() const override { return below_->settled(); }

  size_t post(std::span<const WorkRequest> chain) override {
    if (state() == QueuePairState::kUnconnected || chain.empty()) return 0;
    size_t taken = 0;
    Thread& thread = send_cq_.thread();
    std::vector<std::shared_ptr<Request>> posted;
    for (; taken < chain.size() && requests_.size() < entries_; ++taken) {
      thread.charge(hardware().request);
      posted.push_back(copy_of(chain[taken]));
      if (chain[taken].inlined || fabric_.charges_copies()) {
        thread.charge(time_for(posted.back()->bytes, hardware().copied_per_ns));
      }
      requests_.push_back(posted.back());
    }
    if (taken == 0) return 0;
    thread.charge(hardware().doorbell);
    schedule().at(thread.now() + hardware().pcie_write, [this, posted = std::move(posted)] {
      for (const auto& request : posted) leave(request);
    });
    return taken;
  }

 private:
  struct Request {
    WorkRequest work;
    std::vector<Segment> segments;
    std::vector<std::byte> inlined;
    uint64_t bytes = 0;
    bool is_done = false;
    std::optional<Completion> completion;  // from the fabric below, when it has taken effect
  };
  using Pointer = std::shared_ptr<Request>;

  const Hardware& hardware() const { return send_cq_.thread().machine().hardware(); }
  Schedule& schedule() const { return send_cq_.thread().machine().schedule(); }

  static Pointer copy_of(const WorkRequest& work) {
    auto request = std::make_shared<Request>();
    request->work = work;
    request->segments.assign(work.segments.begin(), work.segments.end());
    request->bytes = bytes_of(work);
    if (work.inlined) {
      for (const Segment& segment : work.segments) {
        request->inlined.insert(request->inlined.end(), segment.data, segment.data + segment.bytes);
      }
    }
    return request;
  }

  // Sends a request that has reached the card, when the card has read what it needs. Meanwhile, the
  // card sends requests of other queue pairs.
  void leave(const Pointer& request) {
    const bool is_read = request->work.opcode == Opcode::kRead;
    const uint64_t sent = is_read ? kReadRequestBytes : request->bytes;
    const bool fetches = !is_read && !request->work.inlined && request->bytes != 0;
    const Time fetch = hardware().pcie_read + on_pcie(hardware(), request->bytes);
    last_ready_ = std::max(last_ready_, schedule().now() + (fetches ? fetch : Time(0)));
    schedule().at(last_ready_, [this, request, sent] {
      const Time left = card_.send(hardware(), schedule().now(), sent);
      schedule().at(left + hardware().wire, [this, request, sent] { reach_peer(request, sent); });
    });
  }

  void reach_peer(const Pointer& request, uint64_t sent) {
    ModelQueuePair& peer = *pairs_.at(other_);
    const Hardware& there = peer.hardware();
    const Time has = peer.card_.receive(there, schedule().now(), sent);
    const bool is_read = request->work.opcode == Opcode::kRead;
    const Time moves = on_pcie(there, request->bytes);
    last_effect_ =
        std::max(last_effect_, has + moves + (is_read ? there.pcie_read : there.pcie_write));
    schedule().at(last_effect_, [this, request] { take_effect(request); });
    if (!is_read) {
      const Time acknowledged = has + there.wire + hardware().pcie_write;
      schedule().at(std::max(acknowledged, last_effect_), [this, request] { finish(request); });
    }
  }

  void take_effect(const Pointer& request) {
    if (!std::exchange(is_used_, true)) {  // both sides must know that they are connected
      for (ModelFabric* fabric : {&fabric_, &pairs_.at(other_)->fabric_}) fabric->look();
      fabric_.look();  // for the answer of the other side
    }
    WorkRequest work = request->work;
    work.id = kBelow;
    work.signaled = true;
    std::vector<Segment> inlined;
    if (work.inlined) {
      inlined.push_back(
          {request->inlined.data(), static_cast<uint32_t>(request->inlined.size()), 0});
    }
    work.segments = work.inlined && request->bytes != 0 ? inlined : request->segments;
    const bool posted = below_->post({&work, 1}) == 1;
    CHECK(posted) << "the fabric below takes no request";
    ModelQueuePair& peer = *pairs_.at(other_);
    peer.recv_cq_.take_receives();  // `loop` completes a SEND when the receiver has polled
    request->completion = send_cq_.completion_below(number());
    request->completion->id = request->work.id;
    if (work.opcode == Opcode::kRead) {
      const Time left = peer.card_.send(peer.hardware(), schedule().now(), request->bytes);
      schedule().at(left + hardware().wire, [this, request] {
        const Time has = card_.receive(hardware(), schedule().now(), request->bytes);
        schedule().at(has + on_pcie(hardware(), request->bytes) + hardware().pcie_write,
                      [this, request] { finish(request); });
      });
    } else if (work.opcode == Opcode::kWrite) {
      peer.recv_cq_.thread().poke(false);  // the thread may look at the memory
    } else {
      peer.recv_cq_.arrived(work.solicited);
    }
  }

  // Completes the request as soon as all requests before it are complete.
  void finish(const Pointer& request) {
    request->is_done = true;
    while (!requests_.empty() && requests_.front()->is_done) {
      const Request& first = *requests_.front();
      CHECK(first.completion) << "a request completes before it takes effect";
      if (first.work.signaled) send_cq_.complete(*first.completion);
      requests_.pop_front();
    }
  }

  const std::unique_ptr<engine::QueuePair> below_;
  ModelFabric& fabric_;
  bool is_used_ = false;  // a request has taken effect
  ModelCompletionQueue& send_cq_;
  ModelCompletionQueue& recv_cq_;
  Card& card_;
  QueuePairs& pairs_;
  const uint32_t entries_;
  QueuePairAddress other_{};
  std::deque<Pointer> requests_;  // those that are not complete
  Time last_ready_{};
  Time last_effect_{};
};

void ModelCompletionQueue::complete(const Completion& completion) {
  ready_.push_back(completion);
  thread_.poke(armed_ && !solicited_only_);
}

void ModelCompletionQueue::take_receives() {
  std::array<Completion, 16> some;
  for (size_t count = some.size(); count == some.size();) {
    count = below_->poll(some);
    for (const Completion& completion : std::span(some).first(count)) {
      (is_receive(completion.opcode) ? ready_ : below_requests_).push_back(completion);
    }
  }
}

Completion ModelCompletionQueue::completion_below(uint32_t pair) {
  take_receives();
  CHECK_EQ(below_requests_.size(), 1u) << "the fabric below must complete a request at once";
  const Completion completion = below_requests_.front();
  below_requests_.clear();
  CHECK_EQ(completion.queue_pair, pair);
  CHECK(completion.status == engine::Status::kSuccess) << text(completion.status);
  return completion;
}

void ModelCompletionQueue::arm(bool solicited_only) {
  thread_.charge(thread_.machine().hardware().doorbell);
  armed_ = true;  // for good: a thread arms all its queues whenever it goes to sleep
  solicited_only_ = solicited_only;
}

size_t ModelCompletionQueue::poll(std::span<Completion> into) {
  const Hardware& hardware = thread_.machine().hardware();
  take_receives();
  const size_t found = std::min(into.size(), ready_.size());
  std::copy_n(ready_.begin(), found, into.begin());
  ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(found));
  thread_.charge(hardware.empty_poll + static_cast<int64_t>(found) * hardware.completion);
  return found;
}

Result<std::unique_ptr<engine::CompletionQueue>> ModelFabric::create_completion_queue(
    uint32_t entries) {
  HAT_TRY(auto queue, below_->create_completion_queue(entries));
  return std::make_unique<ModelCompletionQueue>(std::move(queue), thread_);
}

void ModelFabric::look() {
  while (std::optional<engine::FabricEvent> event = below_->next_event()) {
    events_.push_back(std::move(*event));
  }
}

std::optional<engine::FabricEvent> ModelFabric::next_event() {
  constexpr Time kInterval = std::chrono::microseconds(20);
  const Time now = thread_.machine().schedule().now();
  if (now >= looks_at_) {
    looks_at_ = now + kInterval;
    look();
  }
  if (events_.empty()) return std::nullopt;
  engine::FabricEvent event = std::move(events_.front());
  events_.pop_front();
  return event;
}

size_t ModelReceiveQueue::post(std::span<const engine::ReceiveRequest> requests) {
  const size_t taken = below_->post(requests);
  thread_.charge(static_cast<int64_t>(taken) * thread_.machine().hardware().request);
  return taken;
}

Result<std::unique_ptr<engine::ReceiveQueue>> ModelFabric::create_receive_queue(uint32_t entries) {
  HAT_TRY(auto queue, below_->create_receive_queue(entries));
  return std::make_unique<ModelReceiveQueue>(std::move(queue), thread_);
}

Result<std::unique_ptr<engine::QueuePair>> ModelFabric::create_queue_pair(
    const engine::QueuePairOptions& options) {
  auto& send_cq = static_cast<ModelCompletionQueue&>(options.send_cq);
  auto& recv_cq = static_cast<ModelCompletionQueue&>(options.recv_cq);
  HAT_TRY(auto pair, below_->create_queue_pair(
                         options.with(send_cq.below(), recv_cq.below(),
                                      static_cast<ModelReceiveQueue&>(options.srq).below())));
  return std::make_unique<ModelQueuePair>(std::move(pair), send_cq, recv_cq, *this, card_, pairs_,
                                          options.send_entries);
}

}  // namespace hat::model
