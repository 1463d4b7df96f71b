// SPDX-License-Identifier: Apache-2.0
// engine/rdma/posting.cc: posts a lane's requests and control messages to the queue pair: chains
// them, signals some of them, and counts them against the send entries until they are done.
#include <algorithm>
#include <cstring>

#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

uint32_t RdmaLane::space() const {
  const uint64_t out = posted_ - reclaimed_;
  const uint64_t usable = options_.send_entries - kControlReserve;
  return out >= usable || down_ ? 0 : static_cast<uint32_t>(usable - out);
}

WorkRequest& RdmaLane::post(Opcode opcode, const Segment& segment, const RemoteBuffer& remote) {
  if (chain_.size() == kChainMax) post_chain();
  auto& kept = chain_segments_[chain_.size()];
  kept[0] = segment;
  WorkRequest& work = chain_.emplace_back();
  work.opcode = opcode;
  work.inlined = opcode != Opcode::kRead && is_inline(segment.bytes);
  work.segments = {kept.data(), segment.bytes == 0 ? 0u : 1u};
  work.remote_address = remote.address;
  work.rkey = remote.rkey;
  ++posted_;
  // Unsignaled requests hold their send entries until a later signaled one completes.
  work.signaled = false;
  if (signs_ || posted_ - last_signaled_ >= options_.send_entries / 4) sign(work);
  return work;
}

// Signals the request that was posted last.
void RdmaLane::sign(WorkRequest& work) {
  work.signaled = true;
  last_signaled_ = posted_;
  signaled_.push_back({.posted = posted_});
}

WorkRequest& RdmaLane::post_message(const Outgoing& message, Opcode opcode,
                                    const RemoteBuffer& remote) {
  auto* slot = reinterpret_cast<std::byte*>(message.envelope);
  const bool together = message.payload.data == slot + sizeof(Envelope);
  const auto head = static_cast<uint32_t>(sizeof(Envelope));
  WorkRequest& work =
      post(opcode, {slot, together ? message.bytes() : head, slots_.lkey()}, remote);
  if (together || message.payload.bytes == 0) return work;
  auto& kept = chain_segments_[chain_.size() - 1];
  kept[1] = message.payload;
  work.segments = kept;
  work.inlined = is_inline(message.bytes());
  return work;
}

WorkRequest& RdmaLane::post_signaled(Leg leg, uint64_t cookie, Opcode opcode,
                                     const Segment& segment, const RemoteBuffer& remote) {
  WorkRequest& work = post(opcode, segment, remote);
  if (!work.signaled) sign(work);
  Signaled& signaled = signaled_.back();
  signaled.leg = leg;
  signaled.to_leg = true;
  signaled.cookie = cookie;
  ++to_legs_;
  return work;
}

void RdmaLane::post_chain() {
  if (down_) chain_.clear();
  if (chain_.empty()) return;
  // The last request that completes at the other side wakes it.
  const auto told = std::ranges::find_if(chain_.rbegin(), chain_.rend(), [](const auto& work) {
    return work.opcode == Opcode::kSend || work.opcode == Opcode::kWriteImm;
  });
  if (told != chain_.rend()) told->solicited = true;
  const size_t taken = queue_pair_->post(chain_);
  const bool all = taken == chain_.size();
  chain_.clear();
  if (!all) go_down("the queue pair accepts no more work requests");
}

void RdmaLane::flush() {
  if (down_) return tell_down();
  for (LegHandler* handler : late_) handler->before_post();
  post_chain();
  for (; !copied_.empty(); copied_.pop_front()) events_.on_returned(copied_.front());
}

void RdmaLane::on_send_completion(const Completion& done) {
  if (down_) return;
  if (done.status != Status::kSuccess) {
    return go_down("a request failed: " + std::string(text(done.status)));
  }
  if (signaled_.empty()) return;
  const Signaled signaled = signaled_.front();
  signaled_.pop_front();
  reclaimed_ = signaled.posted;
  return_borrowed();
  if (!signaled.to_leg) return;
  --to_legs_;
  if (signaled.cookie == kProbe) {
    probing_ = false;
    return;
  }
  handler(signaled.leg).on_completion(signaled.cookie);
}

// --- Control messages ---

void RdmaLane::send_control(ControlKind kind, Leg leg, uint64_t sequence,
                            const RemoteBuffer* remote, const FrameHeader* frame) {
  if (down_) return;
  PendingControl one;
  one.envelope.kind = kind;
  one.envelope.leg = leg;
  one.envelope.sequence = static_cast<uint32_t>(sequence);
  if (frame != nullptr) one.envelope.frame = *frame;
  one.has_remote = remote != nullptr;
  if (remote != nullptr) one.remote = *remote;
  if (pending_controls_.size() == kPendingControlsMax)
    return breaks("it requests control messages and does not receive them");
  pending_controls_.push_back(one);
  post_controls();
}

void RdmaLane::post_controls() {
  while (!down_ && !pending_controls_.empty() && posted_ - reclaimed_ < options_.send_entries) {
    post_control(pending_controls_.front());
    pending_controls_.pop_front();
  }
}

void RdmaLane::post_control(const PendingControl& control) {
  // Its bytes belong to its send entry, and are reused only when that entry is.
  std::byte* at =
      control_bytes_.bytes().data() + (posted_ % options_.send_entries) * kControlBytesMax;
  Envelope envelope = control.envelope;
  envelope.delivered = static_cast<uint32_t>(next_);
  envelope.fetch_epoch = fetch_epoch_;
  std::memcpy(at, &envelope, sizeof envelope);
  uint32_t bytes = sizeof envelope;
  if (control.has_remote) {
    std::memcpy(at + bytes, &control.remote, sizeof control.remote);
    bytes += sizeof control.remote;
  }
  to_tell_ = 0;
  post(Opcode::kSend, {at, bytes, control_bytes_.lkey()});
}

}  // namespace hat::engine
