// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_lanes.cc: the lanes of a stream from a peer: moves to another lane,
// and the loss of the stream's RDMA lane.
//
// A stream whose lane is lost is suspended: it sends no bytes of the server. The client's daemon
// notices the loss too, and sends a kResume frame with its LaneCounts. If no frame was lost that
// cannot be sent again, the stream continues on the link's TCP connection. Otherwise it ends
// (docs/link.md, "A stream that resumes").
#include <cstring>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameHeader;
using engine::FrameKind;

namespace {

// How long a suspended stream waits for a kResume frame. The client's side can notice the loss
// later than this side, and gives up after OutboundStream::kResumeWait.
constexpr Duration kResumeWait = 2 * OutboundStream::kResumeWait;

}  // namespace

// Makes the stream use the lane with this number. Sends bytes of replies that waited because the
// old lane was congested. Returns false if the stream is closed now, which can happen after the
// last reply, or because the peer has left the old lane before the lane was lost: the frames that
// this side sent last on the old lane can be lost, and the peer asks for none of them.
bool ServerStream::move_to(uint32_t lane) {
  if (stream_.is_suspended()) {
    reset(Failure::kLinkLost, kLaneLost);
    return false;
  }
  if (stream_.move_to(lane)) on_space();  // the old lane may have been congested
  return !stream_.is_closed();
}

// Reports to the peer that the call of this frame ends without a reply, if the lane expects one.
void ServerStream::end_due(uint32_t lane, const FrameHeader& header) {
  if (header.replies != 0) stream_.end_due(link_.lane(lane));
}

// --- The loss of the lane ---

bool ServerStream::leave_lane(uint32_t lane) {
  calls_.replace_lane(lane, link_.lane(0));
  if (stream_.lane().number != lane) return false;
  stream_.move_to(0);
  return true;
}

void ServerStream::on_lane_lost(const std::string& reason) {
  reset(Failure::kLinkLost, "RDMA lane: " + reason);
}

void ServerStream::suspend() {
  if (stream_.is_closed()) return;
  stream_.suspend();
  read_if_space();
  worker_.deadlines().set(resume_wait_, kResumeWait);
}

// Compares the frames that each side has sent on RDMA lanes with those that the other side has
// received. The peer sends this frame only after it has closed the lane, so neither side receives
// more frames from the lane. A lane delivers frames in order, so the newest ones are those lost.
void ServerStream::on_resume(Bytes payload) {
  engine::ResumeMeta peer;
  if (payload.size() != sizeof peer) return reset();
  std::memcpy(&peer, payload.data(), sizeof peer);
  stream_.resume();
  const engine::LaneCounts& own = stream_.counts();
  const bool gets_all =
      own.received <= peer.counts.sent && peer.counts.sent - own.received <= peer.kept;
  const bool peer_has_all = own.sent == peer.counts.received;
  if (!gets_all || !peer_has_all) {
    return reset(Failure::kLinkLost, kLaneLost, !peer_has_all || has_delivered());
  }
  stream_.send_control(FrameKind::kResumed, std::as_bytes(std::span(&own.received, 1)));
  continue_on_tcp();
}

// Returns true if the server may have seen a part of an unanswered call.
bool ServerStream::has_delivered() const {
  if (is_opaque() || (pooled_ && pooled_->busy())) return true;
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].is_handed_over()) return true;
  }
  return false;
}

void ServerStream::continue_on_tcp() {
  resume_wait_.end();
  on_space();
}

// Ends the stream, because its peer has sent no kResume frame. If the peer has ended its direction
// of the stream, all its frames have arrived, so the server still gets the calls that wait. If the
// peer knows the stream, it ends the stream when bytes of a reply arrive.
void ServerStream::on_resume_wait_end() {
  if (stream_.is_closed()) return;
  if (!stream_.peer_has_ended()) return reset(Failure::kLinkLost, kLaneLost);
  stream_.resume();
  continue_on_tcp();
}

}  // namespace hat
