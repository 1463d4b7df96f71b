// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_resume.cc: a client connection whose stream has lost its RDMA lane,
// while the link is up. The stream continues on the link's TCP connection if this side has received
// all frames that the peer sent on RDMA lanes, and has copies of those that the peer has not
// received (docs/link.md, "A stream that resumes"). Until the peer has answered, no request is
// sent.
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameKind;

void ClientConnection::on_lane_lost(const std::string& reason) {
  if (!stream_.opened()) return on_session_lost(reason);  // no frame was sent
  const uint32_t lost = stream_.lane_number();
  stream_.ask_to_resume();
  want_read(false);
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    if (call.choice.lane != lost) continue;
    call.choice = {.why = Fallback::kDown};
    // The wait is not a property of what is learned about.
    if (!call.failure) calls_.drop_learning(call);
  }
}

void ClientConnection::on_resumed(Bytes payload) {
  if (!stream_.is_suspended()) return;
  const std::optional<uint64_t> again_from = stream_.on_resumed(payload);
  if (!again_from) return give_up_stream("frames that were lost with it are not kept");
  worker_.counters().peer_events.add(stream_.peer(), PeerEvent::kResume);
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = calls_[i];
    call.times.asked = {};  // the time of the wait does not show how fast the peer is
    const bool is_sent_again = *again_from != 0 && call.ordinal >= *again_from;
    if (!is_sent_again || !call.sent || call.failure) continue;
    call.counters->retries.add();
    call.pieces.request = {};
    call.way.request = Carrier::kTcp;
    call.times.sent = worker_.reactor().now();
  }
}

// Returns true if the frame may arrive while the stream waits for the peer's answer. Bytes of the
// server may not: nothing shows yet that those before them have arrived.
bool ClientConnection::may_come_before_answer(const engine::FrameHeader& header) const {
  const bool is_no_reply = (header.flags & engine::kOutcomeMask) == engine::kNoReply;
  if (header.kind == FrameKind::kReply) return is_no_reply && header.payload_bytes == 0;
  if (header.kind == FrameKind::kEnd) return mode_ == Mode::kCalls;
  return header.kind != FrameKind::kMore && header.kind != FrameKind::kRaw;
}

void ClientConnection::give_up_stream(const std::string& why) {
  stream_.send_control(FrameKind::kReset);
  lose_stream(Failure::kLinkLost, true, "RDMA lane: the lane was lost, and " + why);
}

}  // namespace hat
