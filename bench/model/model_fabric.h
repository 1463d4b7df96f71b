// SPDX-License-Identifier: Apache-2.0
// bench/model/model_fabric.h: a fabric that gives each operation the time that it takes on a
// modelled network card. The fabric `loop` moves the bytes; this fabric decides when.
//
//   post()      charges the thread; the request reaches the card a PCIe write later
//   the card    sends one message after another: its own work, or the time on the wire if that is
//               longer. If a request is not inlined, it first reads the payload from the host's
//               memory
//   the peer    its card receives one message after another, and writes to memory. Then the request
//               takes effect, and the peer's thread is poked
//   READ        the peer's card reads its host's memory, and sends the bytes back as a message
//   completion  of a WRITE or SEND when the acknowledgement is back and it has taken effect, of a
//               READ when the bytes are
//
// The requests of a queue pair take effect and complete in the order of posting. Nothing is lost.
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <vector>

#include "bench/model/card.h"
#include "bench/model/machine.h"
#include "engine/fabric/fake_fabric.h"

namespace hat::model {

class ModelQueuePair;

// The queue pairs of a model, by their addresses.
using QueuePairs = std::map<engine::QueuePairAddress, ModelQueuePair*>;

class ModelCompletionQueue final : public engine::CompletionQueue {
 public:
  ModelCompletionQueue(std::unique_ptr<engine::CompletionQueue> below, Thread& thread)
      : below_(std::move(below)), thread_(thread) {}

  size_t poll(std::span<engine::Completion> into) override;
  void arm(bool solicited_only) override;
  int event_fd() const override { return below_->event_fd(); }
  void take_events() override {}  // the model wakes the thread, and the fabric below need not
  Result<void> resize(uint32_t entries) override { return below_->resize(entries); }

  engine::CompletionQueue& below() { return *below_; }
  Thread& thread() { return thread_; }
  // Adds the completion of a request.
  void complete(const engine::Completion& completion);
  // Returns the completion of the only request that the fabric below has just performed.
  engine::Completion completion_below(uint32_t pair);
  // Reports that the fabric below has a completion of a receive.
  void arrived(bool solicited) { thread_.poke(armed_ && (solicited || !solicited_only_)); }

  // Keeps the completions of the fabric below for poll().
  void take_receives();

 private:
  const std::unique_ptr<engine::CompletionQueue> below_;
  Thread& thread_;
  bool armed_ = false;
  bool solicited_only_ = false;
  std::deque<engine::Completion> ready_;
  std::deque<engine::Completion> below_requests_;
};

class ModelReceiveQueue final : public engine::ReceiveQueue {
 public:
  ModelReceiveQueue(std::unique_ptr<engine::ReceiveQueue> below, Thread& thread)
      : below_(std::move(below)), thread_(thread) {}

  size_t post(std::span<const engine::ReceiveRequest> requests) override;
  engine::ReceiveQueue& below() { return *below_; }

 private:
  const std::unique_ptr<engine::ReceiveQueue> below_;
  Thread& thread_;
};

class ModelFabric final : public engine::ForwardingFabric {
 public:
  // Takes the thread that polls all completion queues of the fabric. The arguments must outlive it.
  // If `charges_copies` is true, the thread that posts a request also pays for a copy of its bytes
  // into registered memory, even if it is a READ, whose bytes the other side has copied.
  ModelFabric(Thread& thread, Card& card, QueuePairs& pairs, bool charges_copies)
      : thread_(thread), card_(card), pairs_(pairs), charges_copies_(charges_copies) {}

  bool charges_copies() const { return charges_copies_; }

  Result<std::unique_ptr<Fabric>> open_domain() override {
    return std::make_unique<ModelFabric>(thread_, card_, pairs_, charges_copies_);
  }
  Result<std::unique_ptr<engine::CompletionQueue>> create_completion_queue(
      uint32_t entries) override;
  Result<std::unique_ptr<engine::ReceiveQueue>> create_receive_queue(uint32_t entries) override;
  Result<std::unique_ptr<engine::QueuePair>> create_queue_pair(
      const engine::QueuePairOptions& options) override;
  std::optional<engine::FabricEvent> next_event() override;
  // Lets the fabric below work, which it must when queue pairs connect, and keeps its events for
  // next_event().
  void look();

 private:
  Thread& thread_;
  Card& card_;
  QueuePairs& pairs_;
  const bool charges_copies_;
  std::deque<engine::FabricEvent> events_;
  Time looks_at_{};  // when next_event() looks again, because each look is a system call
};

}  // namespace hat::model
