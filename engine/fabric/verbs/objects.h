// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/objects.h: each ibv_ object with its owner.
//
// Every request gets a number of ours as its wr_id, so that a completion, a failed one too, tells
// what it belongs to: kSendBit, the life of its queue pair (numbers of queue pairs come again) and
// the place in its ring; or the place among the receive queue's entries.
#pragma once

#include <unordered_map>
#include <vector>

#include "engine/fabric/verbs/device.h"

namespace hat::engine::verbs {

class VerbsQueuePair;

class VerbsRegion final : public MemoryRegion {
 public:
  VerbsRegion(std::span<std::byte> bytes, ibv_mr* region) : bytes_(bytes), region_(region) {}
  std::span<std::byte> bytes() const override { return bytes_; }
  uint32_t lkey() const override { return region_->lkey; }
  uint32_t rkey() const override { return region_->rkey; }

 private:
  const std::span<std::byte> bytes_;
  const Owned<ibv_mr, ibv_dereg_mr> region_;
};

class VerbsCompletionQueue final : public CompletionQueue {
 public:
  VerbsCompletionQueue(ibv_comp_channel* channel, ibv_cq* queue)
      : channel_(channel), queue_(queue) {}
  size_t poll(std::span<Completion> into) override;
  void arm(bool solicited_only) override;
  int event_fd() const override { return channel_->fd; }
  void take_events() override;

  ibv_cq* get() const { return queue_.get(); }
  void attach(VerbsQueuePair& pair);
  // The pair's receives that are done are told all the same: somebody owns their memory.
  void detach(VerbsQueuePair& pair);

 private:
  size_t poll_device(std::span<Completion> into);

  const Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  const Owned<ibv_cq, ibv_destroy_cq> queue_;
  std::unordered_map<uint32_t, VerbsQueuePair*> pairs_;  // by number
  std::vector<Completion> kept_;                         // polled, and not told yet
};

class VerbsReceiveQueue final : public ReceiveQueue {
 public:
  VerbsReceiveQueue(ibv_srq* queue, uint32_t entries);
  size_t post(std::span<const ReceiveRequest> requests) override;

  ibv_srq* get() const { return queue_.get(); }
  // The id of the entry, which is free again.
  uint64_t take(uint64_t entry);

 private:
  size_t post_some(std::span<const ReceiveRequest> requests);

  const Owned<ibv_srq, ibv_destroy_srq> queue_;
  std::vector<uint64_t> ids_;  // by entry
  std::vector<uint32_t> free_;
};

class VerbsQueuePair final : public QueuePair {
 public:
  static constexpr uint64_t kSendBit = uint64_t{1} << 63;

  static Result<std::unique_ptr<QueuePair>> create(const Device& device, ibv_pd& domain,
                                                   const QueuePairOptions& options);
  ~VerbsQueuePair() override;
  uint32_t number() const override { return pair_->qp_num; }
  QueuePairAddress address() const override;
  Result<void> connect(const QueuePairAddress& other) override;
  QueuePairState state() const override { return state_; }
  size_t post(std::span<const WorkRequest> chain) override;
  void fail() override;

  // From its completion queues: what the device says, in our words. False: nobody is to be told.
  bool translate(const ibv_wc& from, Completion& into);

 private:
  struct Request {
    uint64_t id = 0;
    Opcode opcode = Opcode::kSend;
    bool signaled = false;
  };

  VerbsQueuePair(const Device& device, ibv_qp* pair, const QueuePairOptions& options);
  Result<void> initialize();
  bool fits(const WorkRequest& work) const;
  size_t post_some(std::span<const WorkRequest> chain);

  const Device& device_;
  const QueuePairOptions options_;
  VerbsCompletionQueue& send_cq_;
  VerbsCompletionQueue& recv_cq_;
  VerbsReceiveQueue& srq_;
  const uint32_t first_sequence_;
  const uint64_t life_;  // bits 32 to 62
  QueuePairState state_ = QueuePairState::kUnconnected;
  std::vector<Request> requests_;  // requests_[head_ … tail_], modulo its length, are out
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  const Owned<ibv_qp, ibv_destroy_qp> pair_;
};

}  // namespace hat::engine::verbs
