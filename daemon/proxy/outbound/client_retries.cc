// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_retries.cc: calls that are sent again after a failure.
//
// A call is sent again if the server certainly has not seen it, and another peer can carry it or it
// was lost with an RDMA lane. It is also sent again if its function is idempotent and the link, the
// lane or the connection to the server was lost. It must be its connection's only unanswered call,
// so that calls reach servers in the client's order. And the client must not have a connection to
// the server of its own, because another server would not have its state. A frame with several
// messages is not sent again.
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameKind;

// Begins to keep the request of the call that has just begun, if it may be sent again.
void ClientConnection::keep_request(const Call& call, const Route& route) {
  const Limits& limits = worker_.node().limits;
  worker_.retries().note_call(limits.retry_percent);
  const bool idempotent = route.client.plan.idempotent;
  const bool may = (idempotent || endpoint_->config.peers.size() > 1) && calls_.size() == 1 &&
                   call.replies != 0 && limits.retry_percent != 0 && !stream_.is_bound() &&
                   call.head.get().frame_bytes < limits.retry_request_bytes_max &&
                   worker_.has_space_for_copies();
  if (may) return request_.begin(idempotent);
  request_.drop();
}

bool ClientConnection::may_try_again(const Call& call, const Loss& loss) const {
  if (!request_.is_whole() || calls_.size() != 1 || &call == current_ || !call.sent ||
      call.failure || call.reply_started || request_.attempts() >= kAttemptsMax) {
    return false;
  }
  if (mode_ != Mode::kCalls || life_ != Life::kOpen || input_ != Input::kOpen || taking_ ||
      worker_.draining() || !loss.may_leave) {
    return false;
  }
  if (!loss.delivered && loss.failure == Failure::kLinkLost) return true;  // to any peer
  if (!loss.delivered && has_no_server(loss.failure)) {
    return loss.peer != nullptr && worker_.has_other_peer(*loss.peer, stream_.peers(), *endpoint_);
  }
  return request_.idempotent() &&
         (loss.failure == Failure::kLinkLost || loss.failure == Failure::kUpstreamClosed);
}

// Sends `call`, which has failed, again. Returns false if this is not possible.
bool ClientConnection::try_again(Call& call, const Loss& loss) {
  if (!may_try_again(call, loss)) return false;
  if (!worker_.retries().take(worker_.reactor().now())) {
    worker_.counters().retries_refused.add();
    return false;
  }
  if (loss.delivered) call.lost = loss.failure;
  calls_.drop_learning(call);
  call.sent = false;
  call.ordinal = 0;
  call.by_peer.link = nullptr;
  call.choice = {};
  call.way = {};
  call.pieces = {};
  request_.send_again();
  leave_stream(FrameKind::kEnd);
  current_ = &call;
  want_read(false);  // the next request comes after this one
  if (find_way(call)) resume();
  return true;
}

void ClientConnection::send_again() {
  DCHECK(!reading_) << "a lane must not take the copy for bytes of the client's ring";
  request_.sent();
  current_->counters->retries.add();
  stream_.send_piece(current_, *client_, request_.bytes(), true);
  end_request();
}

}  // namespace hat
