// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/objects.h: the classes of the verbs fabric. Each object owns one or two
// objects of libibverbs (ibv_…).
//
// The fabrics of one device share the opened device (Device). A completion queue belongs to the
// device, so the queue pairs of all these fabrics can use it; all other objects belong to the
// protection domain of one fabric.
//
// The wr_id of a completion identifies its request or receive, even if the request failed:
//   request   kSendBit, the life of the queue pair, and the request's index in the queue pair's
//             ring. The life is a number that no other queue pair of this process has, whereas the
//             device reuses the numbers of queue pairs
//   receive   the number of the receive queue, which no other receive queue of this process has,
//             and the index of the receive among the queue's entries
//
// A device can report a completion after the end of its queue pair, and can then give the queue
// pair's number to another queue pair. Such a completion is never taken for one of the other queue
// pair:
//   request   it is dropped
//   receive   poll() returns it with queue_pair 0, which is never the number of an RC queue pair,
//             because the caller owns the memory of the receive. It is dropped only if its receive
//             queue is destroyed too
//
// The libraries of some devices (mlx5) do not report such completions: ibv_destroy_qp(3) discards
// them. A receive is lost to the receive queue if it completes between that call and the last poll
// of the device, which is directly before the call.
//
// A receive names its receive queue, but not the queue pair that consumed it. Therefore a
// completion queue polls the device before a queue pair uses it for the first time:
// ibv_destroy_qp(3) ends the completions of a queue pair, so all completions that then have the
// number are of earlier queue pairs.
#pragma once

#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "engine/fabric/verbs/device.h"

namespace hat::engine::verbs {

class VerbsQueuePair;

// The receives that are posted in one receive queue.
class PostedReceives {
 public:
  explicit PostedReceives(uint32_t entries);
  // Returns the number of the receive queue of a receive, from the wr_id of the receive.
  static uint64_t queue_of(uint64_t wr_id) { return wr_id & ~uint64_t{0xffffffff}; }
  uint64_t number() const { return number_; }
  size_t free_entries() const { return free_.size(); }
  // Sets the id of the receive that will use the `index`-th free entry, and returns its wr_id. The
  // entry stays free until use().
  uint64_t prepare(size_t index, uint64_t id);
  void use(size_t count) { free_.resize(free_.size() - count); }  // uses the first free entries
  // Frees the entry that `wr_id` names, and returns the id of the receive that was posted in the
  // entry. Returns nullopt, and changes nothing, if the entry is of another receive queue.
  std::optional<uint64_t> take(uint64_t wr_id);

 private:
  const uint64_t number_;      // a unique number in bits 32 to 62, for the wr_id of receives
  std::vector<uint64_t> ids_;  // by entry
  std::vector<uint32_t> free_;
};

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
  Result<void> resize(uint32_t entries) override;

  ibv_cq* get() const { return queue_.get(); }
  // Begins to return the completions of a queue pair that is not connected yet.
  void attach(VerbsQueuePair& pair);
  // Forgets a queue pair that is about to be destroyed. Keeps the completions of its receives for
  // poll(), with queue_pair 0.
  void detach(VerbsQueuePair& pair);

 private:
  size_t poll_device(std::span<Completion> into);
  void keep_all();
  bool translate_orphan(const ibv_wc& from, Completion& into);

  const Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel_;
  const Owned<ibv_cq, ibv_destroy_cq> queue_;
  std::unordered_map<uint32_t, VerbsQueuePair*> pairs_;  // by QueuePair::number()
  std::vector<Completion> kept_;  // the completions that keep_all() polled; poll() returns them
  // The receive queues of all queue pairs so far, by PostedReceives::number(). A receive queue that
  // is destroyed has a null pointer until the next attach().
  std::unordered_map<uint64_t, std::weak_ptr<PostedReceives>> receives_;
};

class VerbsReceiveQueue final : public ReceiveQueue {
 public:
  VerbsReceiveQueue(ibv_srq* queue, uint32_t entries);
  size_t post(std::span<const ReceiveRequest> requests) override;

  ibv_srq* get() const { return queue_.get(); }
  const std::shared_ptr<PostedReceives>& posted() const { return posted_; }

 private:
  size_t post_some(std::span<const ReceiveRequest> requests);

  const Owned<ibv_srq, ibv_destroy_srq> queue_;
  const std::shared_ptr<PostedReceives> posted_;  // completion queues have weak pointers to it
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

  const VerbsReceiveQueue& receive_queue() const { return srq_; }
  // Translates `from`, a completion of the device, to `into`. Returns false, and changes nothing,
  // if this queue pair has not such a request or receive. Also returns false for an unsignaled
  // request that has succeeded, which poll() must not return.
  bool translate(const ibv_wc& from, Completion& into);
  // Translates the completion of a receive whose id is `id`.
  static Completion translate_receive(const ibv_wc& from, uint64_t id, uint32_t queue_pair);

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
  const uint64_t life_;  // a unique number in bits 32 to 62, for the wr_id of requests
  QueuePairState state_ = QueuePairState::kUnconnected;
  std::vector<Request> requests_;  // a ring; the requests from head_ to tail_ are outstanding
  uint64_t head_ = 0;
  uint64_t tail_ = 0;
  const Owned<ibv_qp, ibv_destroy_qp> pair_;
};

}  // namespace hat::engine::verbs
