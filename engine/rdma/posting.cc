// SPDX-License-Identifier: Apache-2.0
// engine/rdma/posting.cc: posts work requests and control messages to a lane's queue pair. A chain
// of requests is posted when it is full, and with each flush().
#include <cstring>

#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

uint32_t RdmaLane::space() const {
  const uint32_t free = chain_.entries_free();
  return free <= kControlReserve || broken() ? 0 : free - kControlReserve;
}

WorkRequest& RdmaLane::post(Opcode opcode, const Segment& segment, const RemoteBuffer& remote) {
  if (chain_.is_full()) post_chain();
  return chain_.append(opcode, segment, remote);
}

WorkRequest& RdmaLane::post_signaled(Leg leg, uint64_t cookie, Opcode opcode,
                                     const Segment& segment, const RemoteBuffer& remote) {
  WorkRequest& work = post(opcode, segment, remote);
  chain_.await(RequestChain::Waiter::kLeg, leg, cookie);
  return work;
}

void RdmaLane::post_chain() {
  if (broken()) return chain_.discard();
  if (!chain_.post_to(*queue_pair_)) go_down("the queue pair accepts no more work requests");
}

void RdmaLane::flush() {
  if (broken()) return report_down();
  for (LegHandler* handler : late_) handler->before_post();
  post_chain();
  sender_.return_copied();
}

void RdmaLane::on_send_completion(const Completion& done) {
  if (broken()) return;
  if (done.status != Status::kSuccess) {
    return go_down("a request failed: " + std::string(text(done.status)));
  }
  const auto signaled = chain_.complete();
  if (!signaled) return;
  sender_.return_borrowed();
  switch (signaled->waiter) {
    case RequestChain::Waiter::kNone:
      return;
    case RequestChain::Waiter::kProbe:
      probing_ = false;
      return;
    case RequestChain::Waiter::kLeg:
      return handler(signaled->leg).on_completion(signaled->cookie);
  }
}

// --- Control messages ---

void RdmaLane::send_control(ControlKind kind, Leg leg, uint64_t sequence,
                            const RemoteBuffer* remote, const FrameHeader* frame) {
  if (broken()) return;
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
  while (!broken() && !pending_controls_.empty() && chain_.entries_free() != 0) {
    post_control(pending_controls_.front());
    pending_controls_.pop_front();
  }
}

void RdmaLane::post_control(const PendingControl& control) {
  // Each send entry has its own memory for a control message, which is reused only with the send
  // entry.
  std::byte* at =
      control_bytes_.bytes().data() + (chain_.posted() % options_.send_entries) * kControlBytesMax;
  Envelope envelope = control.envelope;
  receiver_.write_report(envelope);
  std::memcpy(at, &envelope, sizeof envelope);
  uint32_t bytes = sizeof envelope;
  if (control.has_remote) {
    std::memcpy(at + bytes, &control.remote, sizeof control.remote);
    bytes += sizeof control.remote;
  }
  post(Opcode::kSend, {at, bytes, control_bytes_.lkey()});
}

}  // namespace hat::engine
