// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/request_chain.h"

#include <algorithm>

#include "base/check.h"

namespace hat::engine {

RequestChain::RequestChain(uint32_t send_entries, uint32_t inline_bytes_max)
    : send_entries_(send_entries), inline_bytes_max_(inline_bytes_max) {
  requests_.reserve(kLengthMax);
}

WorkRequest& RequestChain::append(Opcode opcode, const Segment& segment,
                                  const RemoteBuffer& remote) {
  DCHECK(!is_full()) << "a chain has " << kLengthMax << " requests at most";
  DCHECK_LT(posted_ - done_, send_entries_) << "no send entry is free";
  auto& kept = segments_[requests_.size()];
  kept[0] = segment;
  WorkRequest& work = requests_.emplace_back();
  work.opcode = opcode;
  work.inlined = opcode != Opcode::kRead && is_inline(segment.bytes);
  work.segments = {kept.data(), segment.bytes == 0 ? 0u : 1u};
  work.remote_address = remote.address;
  work.rkey = remote.rkey;
  ++posted_;
  // Unsignaled requests hold their send entries until a later signaled request completes. So at
  // least one of `send_entries_` / 4 successive requests is signaled.
  work.signaled = false;
  if (signals_every_ || posted_ - last_signaled_ >= send_entries_ / 4) signal(work);
  return work;
}

void RequestChain::gather(const Segment& second) {
  WorkRequest& work = requests_.back();
  DCHECK_EQ(work.segments.size(), 1u) << "a second segment follows the first";
  auto& kept = segments_[requests_.size() - 1];
  kept[1] = second;
  work.segments = kept;
  work.inlined = work.opcode != Opcode::kRead && is_inline(kept[0].bytes + second.bytes);
}

void RequestChain::signal(WorkRequest& work) {
  work.signaled = true;
  last_signaled_ = posted_;
  signaled_.push_back({.posted = posted_});
}

void RequestChain::await(Waiter waiter, Leg leg, uint64_t cookie) {
  WorkRequest& work = requests_.back();
  if (!work.signaled) signal(work);
  Signaled& signaled = signaled_.back();
  DCHECK_EQ(signaled.posted, posted_);
  DCHECK(signaled.waiter == Waiter::kNone) << "a request has one waiter";
  signaled.waiter = waiter;
  signaled.leg = leg;
  signaled.cookie = cookie;
  ++waiters_;
}

bool RequestChain::post_to(QueuePair& pair) {
  if (requests_.empty()) return true;
  // The last request of the chain that causes a completion at the other side must wake the other
  // side.
  const auto waking = std::ranges::find_if(requests_.rbegin(), requests_.rend(), [](auto& work) {
    return work.opcode == Opcode::kSend || work.opcode == Opcode::kWriteImm;
  });
  if (waking != requests_.rend()) waking->solicited = true;
  const size_t taken = pair.post(requests_);
  const bool all = taken == requests_.size();
  requests_.clear();
  return all;
}

std::optional<RequestChain::Signaled> RequestChain::complete() {
  if (signaled_.empty()) return std::nullopt;
  const Signaled signaled = signaled_.front();
  signaled_.pop_front();
  DCHECK(signaled.posted > done_ && signaled.posted <= posted_)
      << signaled.posted << " of " << posted_ << ", " << done_ << " done";
  done_ = signaled.posted;
  if (signaled.waiter != Waiter::kNone) --waiters_;
  return signaled;
}

}  // namespace hat::engine
