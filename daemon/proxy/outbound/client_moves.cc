// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_moves.cc: a client connection in a takeover.
//
// The connection moves to this daemon's successor, or its stream moves to the peer's successor. Its
// connection to the server moves too, between two calls.
#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using Server = OutboundStream::Server;

// --- The connection to the server ---

// Returns true if the application continues, so that its connection to the server should move and
// not end.
bool ClientConnection::may_detach() const {
  return life_ == Life::kOpen && mode_ == Mode::kCalls && input_ == Input::kOpen;
}

// Called whenever a move may have become due: the last call has ended, the link or this daemon
// begins to leave, or another move has ended.
void ClientConnection::detach_if_due() {
  if (!may_detach() || !stream_.opened()) return;
  // A slow reader stays until it has read everything, because the peer does not keep the token long
  // enough.
  if (!stream_.link_leaves() && (!leaves() || !out_.empty())) return;
  // A call waits for this move, and not for a lane.
  const bool begins = waits_for_lane() && stream_.link_leaves();
  if (calls_.size() > (begins ? 1 : 0)) return;
  if (!stream_.all_taken()) return stream_.ask_whether_taken();
  stream_.detach();
}

void ClientConnection::on_detached(Bytes payload) {
  if (stream_.server() != Server::kDetaching) return;
  if (mode_ != Mode::kCalls) return close(true);
  if (payload.empty()) return stream_.pin();
  if (!stream_.on_detached(payload)) return close(true);
  if (waits_for_lane()) wait_for(Wait::kNone);
  ungranted_ = out_.size();
  if (current_ != nullptr) {
    find_way(*current_);
  } else if (!leaves() || !may_be_handed_over()) {
    reach_server();
  }
}

void ClientConnection::reach_server() {
  if (stream_.server() == Server::kDetached && !waits_for_link() && !have_stream()) {
    start_waiting();
  }
}

// The link ends in good order, and its streams leave it between two calls. A call that was to use
// the link, and of which no part was sent because the link was congested, uses the next link.
void ClientConnection::on_link_leaves() {
  detach_if_due();
  if (current_ == nullptr || current_->sent || waits_for_link()) return;
  if (!waits_for_lane()) wait_for(Wait::kLane);
  resume();
}

// --- To the successor ---

bool ClientConnection::leaves() const {
  const Successor* successor = worker_.successor();
  return successor != nullptr && mode_ == Mode::kCalls && !stays_ && successor->wants(endpoint_);
}

// Returns true if the application's input is open and no request is arriving.
bool ClientConnection::may_be_handed_over() const {
  return input_ == Input::kOpen && !discarding_ && current_ == nullptr;
}

bool ClientConnection::between_calls() const {
  const bool waits = waits_for_link() && stream_.server() != Server::kDetached;  // with a call
  return may_be_handed_over() && calls_.empty() && !waits && !taking_ && out_.empty();
}

bool ClientConnection::hand_over(Successor& successor) {
  if (life_ != Life::kOpen || !leaves()) return true;
  if (!between_calls()) {
    if (!may_be_handed_over() && stream_.server() == Server::kDetached && !waits_for_link()) {
      reach_server();
      resume();
    }
    return true;
  }
  const auto descriptors = client_->descriptors();
  // Not now: the ring's handshake is not complete, or a lane reads from the ring.
  if (descriptors.empty()) return true;
  detach_if_due();
  // The peer may not have received a oneway call yet, or its answer to kDetach may not have
  // arrived.
  const Server server_now = stream_.server();
  if (server_now == Server::kDetaching || server_now == Server::kBound || !stream_.all_taken()) {
    return true;
  }
  if (waits_for_link()) stop_waiting();
  const KeptServer* server = server_now == Server::kDetached ? &stream_.kept() : nullptr;
  switch (
      server_now == Server::kPinned
          ? Successor::Answer::kNever
          : successor.take(endpoint_, descriptors, {reader_.held(), backlog_.bytes()}, server)) {
    case Successor::Answer::kTaken:
      worker_.counters().connections_handed_over.add();
      close(false);
      return true;
    case Successor::Answer::kLater:
      return false;
    case Successor::Answer::kNever:
      break;
  }
  stays_ = true;
  reach_server();
  resume();
  return true;
}

void ClientConnection::on_successor_gone() {
  reach_server();
  resume();
}

void ClientConnection::go_on(Bytes read, const KeptServer* server) {
  if (server != nullptr) {
    if (!worker_.has_peer(server->peer)) {  // the new configuration does not have that peer
      end_after_answers();
      return close_if_done();
    }
    stream_.continue_with(*server);
    reach_server();
  }
  if (!read.empty()) take(read);
}

}  // namespace hat
