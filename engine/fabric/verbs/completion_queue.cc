// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/completion_queue.cc: the completion queues and receive queues of an RDMA
// device.
#include <algorithm>
#include <array>
#include <atomic>

#include "base/system_error.h"
#include "engine/fabric/verbs/objects.h"

namespace hat::engine::verbs {
namespace {

std::atomic<uint64_t> receive_queues = 0;  // the number of receive queues created so far

}  // namespace

void VerbsCompletionQueue::attach(VerbsQueuePair& pair) {
  keep_all();  // before `pair` can get a completion of an earlier queue pair with its number
  pairs_[pair.number()] = &pair;
  std::erase_if(receives_, [](const auto& queue) { return queue.second.expired(); });
  const auto& posted = pair.receive_queue().posted();
  receives_[posted->number()] = posted;
}

void VerbsCompletionQueue::detach(VerbsQueuePair& pair) {
  // A queue pair that uses this queue for both directions calls detach() twice, and only the first
  // call has work.
  if (!pairs_.contains(pair.number())) return;
  keep_all();
  std::erase_if(kept_, [&](const Completion& done) {
    return done.queue_pair == pair.number() && !is_receive(done.opcode);
  });
  // The device can give the number to another queue pair before poll() returns these completions.
  for (Completion& done : kept_) {
    if (done.queue_pair == pair.number()) done.queue_pair = 0;
  }
  pairs_.erase(pair.number());
}

// Moves all completions that the device has reported to kept_.
void VerbsCompletionQueue::keep_all() {
  std::array<Completion, 16> some;
  for (size_t count = some.size(); count == some.size();) {
    count = poll_device(some);
    kept_.insert(kept_.end(), some.begin(), some.begin() + static_cast<ptrdiff_t>(count));
  }
}

size_t VerbsCompletionQueue::poll(std::span<Completion> into) {
  const size_t kept = std::min(kept_.size(), into.size());
  std::copy_n(kept_.begin(), kept, into.begin());
  kept_.erase(kept_.begin(), kept_.begin() + static_cast<ptrdiff_t>(kept));
  return kept + poll_device(into.subspan(kept));
}

size_t VerbsCompletionQueue::poll_device(std::span<Completion> into) {
  std::array<ibv_wc, 16> some;
  size_t found = 0;
  while (found < into.size()) {
    const auto wanted = static_cast<int>(std::min(some.size(), into.size() - found));
    const int count = ibv_poll_cq(queue_.get(), wanted, some.data());
    for (int i = 0; i < count; ++i) {
      const ibv_wc& done = some[static_cast<size_t>(i)];
      const auto pair = pairs_.find(done.qp_num);
      const bool translated =
          (pair != pairs_.end() && pair->second->translate(done, into[found])) ||
          translate_orphan(done, into[found]);
      found += translated ? 1u : 0u;
    }
    if (count < wanted) break;
  }
  return found;
}

// Translates the completion of a receive whose queue pair is destroyed. Returns false for all other
// completions, and if the receive queue is destroyed too.
bool VerbsCompletionQueue::translate_orphan(const ibv_wc& from, Completion& into) {
  if ((from.wr_id & VerbsQueuePair::kSendBit) != 0) return false;
  const auto found = receives_.find(PostedReceives::queue_of(from.wr_id));
  const auto posted = found == receives_.end() ? nullptr : found->second.lock();
  const auto id = posted == nullptr ? std::nullopt : posted->take(from.wr_id);
  if (id) into = VerbsQueuePair::translate_receive(from, *id, 0);
  return id.has_value();
}

void VerbsCompletionQueue::arm(bool solicited_only) {
  ibv_req_notify_cq(queue_.get(), solicited_only ? 1 : 0);
}

void VerbsCompletionQueue::take_events() {
  ibv_cq* queue = nullptr;
  void* context = nullptr;
  unsigned int count = 0;
  while (ibv_get_cq_event(channel_.get(), &queue, &context) == 0) ++count;
  if (count != 0) ibv_ack_cq_events(queue_.get(), count);
}

Result<void> VerbsCompletionQueue::resize(uint32_t entries) {
  const int error = ibv_resize_cq(queue_.get(), static_cast<int>(entries));
  if (error == 0) return {};
  return fail_errno("cannot resize a completion queue from " + std::to_string(queue_->cqe) +
                        " to " + std::to_string(entries) + " entries",
                    error);
}

PostedReceives::PostedReceives(uint32_t entries)
    : number_((++receive_queues & 0x7fffffff) << 32), ids_(entries) {
  for (uint32_t entry = entries; entry != 0; --entry) free_.push_back(entry - 1);
}

uint64_t PostedReceives::prepare(size_t index, uint64_t id) {
  const uint32_t entry = free_[free_.size() - 1 - index];
  ids_[entry] = id;
  return entry | number_;
}

std::optional<uint64_t> PostedReceives::take(uint64_t wr_id) {
  const auto entry = static_cast<uint32_t>(wr_id);
  if (queue_of(wr_id) != number_ || entry >= ids_.size()) return std::nullopt;
  free_.push_back(entry);
  return ids_[entry];
}

VerbsReceiveQueue::VerbsReceiveQueue(ibv_srq* queue, uint32_t entries)
    : queue_(queue), posted_(std::make_shared<PostedReceives>(entries)) {
  queue->srq_context = this;  // for the events of the device
}

size_t VerbsReceiveQueue::post(std::span<const ReceiveRequest> requests) {
  size_t posted = 0;
  while (posted < requests.size()) {
    const size_t taken = post_some(requests.subspan(posted));
    if (taken == 0) break;
    posted += taken;
  }
  return posted;
}

// Posts up to 16 receives in one call of the device. Returns the number of posted receives.
size_t VerbsReceiveQueue::post_some(std::span<const ReceiveRequest> requests) {
  constexpr size_t kChainMax = 16;
  std::array<std::array<ibv_sge, kSegmentsMax>, kChainMax> segments;
  std::array<ibv_recv_wr, kChainMax> chain;
  const size_t most = std::min({kChainMax, requests.size(), posted_->free_entries()});
  size_t count = 0;
  for (; count < most && requests[count].segments.size() <= kSegmentsMax; ++count) {
    const ReceiveRequest& request = requests[count];
    for (size_t i = 0; i < request.segments.size(); ++i) {
      const Segment& segment = request.segments[i];
      segments[count][i] = {reinterpret_cast<uint64_t>(segment.data), segment.bytes, segment.lkey};
    }
    chain[count] = {.wr_id = posted_->prepare(count, request.id),
                    .next = nullptr,
                    .sg_list = segments[count].data(),
                    .num_sge = static_cast<int>(request.segments.size())};
    if (count != 0) chain[count - 1].next = &chain[count];
  }
  if (count == 0) return 0;
  ibv_recv_wr* refused = nullptr;
  if (ibv_post_srq_recv(queue_.get(), chain.data(), &refused) != 0) {
    count = refused == nullptr ? 0 : static_cast<size_t>(refused - chain.data());
  }
  posted_->use(count);
  return count;
}

}  // namespace hat::engine::verbs
