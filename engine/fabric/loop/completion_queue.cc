// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/completion_queue.cc: the completion queues and receive queues of the loop
// fabric. LoopCompletionQueue::poll() asks each queue pair for its completions.
#include <algorithm>
#include <utility>

#include "engine/fabric/loop/barrier.h"
#include "engine/fabric/loop/objects.h"

namespace hat::engine::loop {

size_t LoopCompletionQueue::poll(std::span<Completion> into) {
  size_t found = 0;
  const auto ask = [&](const std::vector<LoopQueuePair*>& pairs, auto complete) {
    const size_t first = turn_ < pairs.size() ? turn_ : 0;
    for (size_t i = first; i < pairs.size() && found < into.size(); ++i) {
      found += (pairs[i]->*complete)(into.subspan(found));
    }
    for (size_t i = 0; i < first && found < into.size(); ++i) {
      found += (pairs[i]->*complete)(into.subspan(found));
    }
  };
  ask(senders_, &LoopQueuePair::complete_sends);
  ask(receivers_, &LoopQueuePair::complete_receives);
  if (found != 0) turn_ = turn_ + 1 < receivers_.size() ? turn_ + 1 : 0;
  return found;
}

void LoopCompletionQueue::arm(bool solicited_only) {
  armed_ = solicited_only ? Wake::kSolicited : Wake::kAny;
  for (LoopQueuePair* pair : receivers_) pair->set_receive_wake(armed_);
  for (LoopQueuePair* pair : senders_) pair->set_send_wake(armed_ == Wake::kAny);
  // Ensures that no entry is missed: either the peer sees the wake flag when it posts an entry, or
  // this side's next poll() sees the entry.
  heavy_barrier();
}

void LoopCompletionQueue::take_events() {
  doorbell_.take();
  armed_ = Wake::kNone;
  for (LoopQueuePair* pair : receivers_) pair->set_receive_wake(Wake::kNone);
  for (LoopQueuePair* pair : senders_) pair->set_send_wake(false);
}

void LoopCompletionQueue::ring_if_armed(bool solicited) {
  if (armed_ == Wake::kNone || (armed_ == Wake::kSolicited && !solicited)) return;
  armed_ = Wake::kNone;
  doorbell_.ring();
}

void LoopCompletionQueue::detach(LoopQueuePair& pair) {
  std::erase(senders_, &pair);
  std::erase(receivers_, &pair);
}

size_t LoopReceiveQueue::post(std::span<const ReceiveRequest> requests) {
  size_t taken = 0;
  for (const ReceiveRequest& request : requests) {
    if (posted_.size() >= entries_ || request.segments.size() > kSegmentsMax) break;
    Receive& receive = posted_.extend();
    receive.id = request.id;
    receive.segment_count = request.segments.size();
    std::ranges::copy(request.segments, receive.segments.begin());
    ++taken;
  }
  if (taken != 0 && std::exchange(missing_, false)) {
    for (LoopQueuePair* pair : pairs_) pair->on_receive_posted();
  }
  return taken;
}

}  // namespace hat::engine::loop
