// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_deadlines.cc: deadlines of calls.
//
// A call has the time-out of its plan, or the one that the client has sent in THeader's info header
// `client_timeout`, if this is shorter. The client's is used only for a call that certainly has a
// reply: a call that may be oneway would end its connection.
#include <glog/logging.h>

#include <optional>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameKind;

namespace {

// Returns the time-out that the client has sent with `call`, made coarse.
std::optional<Duration> clients_timeout(const Call& call) {
  const uint32_t ms = call.head.get().client_timeout_ms;
  if (ms == 0 || call.reply != Reply::kCertain) return std::nullopt;
  return coarse(std::chrono::milliseconds(ms));
}

}  // namespace

void Call::on_deadline() { connection->on_call_deadline(*this); }

// Sets the deadline of a call that has just begun, or whose `reply` has changed.
void ClientConnection::set_deadline(Call& call, const Route& route) {
  call.end();
  if (call.replies == 0) return;
  std::optional<Duration> timeout = route.client.plan.timeout;
  const std::optional<Duration> clients = clients_timeout(call);
  const bool is_shorter = clients && (!timeout || *clients < *timeout);
  call.deadline_of = is_shorter ? DeadlineOf::kClient : DeadlineOf::kPlan;
  if (is_shorter) timeout = clients;
  if (timeout) worker_.deadlines().set(call, *timeout);
}

// If the client has chosen the deadline, it no longer waits for the reply. The deadline then says
// nothing about the server.
void ClientConnection::on_call_deadline(Call& call) {
  const bool gave_up = call.deadline_of == DeadlineOf::kClient;
  if (!gave_up && (call.sent || request_.waits())) call.counters->timed_out.add();
  if (call.reply == Reply::kPossible) {
    LOG_EVERY_T(WARNING, 1)
        << "endpoint " << to_string(endpoint_->config.listen)
        << ": closed a connection, because a call got no reply before its deadline; "
           "hatrpcd does not answer the call, because it may be oneway and no "
           "manifest lists its function";
    return end_without_answers(&call);
  }
  if (call.sent) {
    stream_.send_control(FrameKind::kCancel, call.ordinal);
    if (!gave_up) note_failing_peer(Failure::kDeadlineExceeded, &call);
  }
  // If `call` waits for a link, this wait ends with `call`. But if a peer keeps a connection to the
  // server, the wait continues, because the next stream must reach this peer.
  if (&call == current_ && waits_for_link() &&
      stream_.server() != OutboundStream::Server::kDetached) {
    stop_waiting();
  }
  fail(call, Failure::kDeadlineExceeded,
       gave_up ? "no reply within the client's client_timeout of " +
                     std::to_string(call.head.get().client_timeout_ms) + " ms"
               : "no reply within the function's timeout_ms, or limits.call_timeout");
  if (over()) return;
  detach_if_due();
  resume();
}

}  // namespace hat
