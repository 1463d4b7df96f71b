// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_moves.cc: a client connection in a takeover.
//
// In a takeover of this daemon, the client connection moves to the successor. In a takeover of the
// peer, the client connection gets a new stream to the peer's successor. The connection to the
// server moves to the new stream too, between two calls.
#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using Server = OutboundStream::Server;

// --- The connection to the server ---

// Returns true if the client can make more calls, so that its connection to the server must move in
// a takeover instead of ending.
bool ClientConnection::may_detach() const {
  return life_ == Life::kOpen && mode_ == Mode::kCalls && input_ == Input::kOpen;
}

// Begins to move the connection to the server if a move is due. Must be called whenever a move can
// have become due: a call or another move has ended, or a takeover of either daemon begins.
void ClientConnection::detach_if_due() {
  if (!may_detach() || !stream_.opened()) return;
  // A kSync frame would overtake frames that were lost with a lane and are sent again later.
  if (stream_.is_suspended()) return;
  // If this daemon is replaced, a client moves only after it has read all answers. The peer keeps a
  // detached connection to the server only for a limited time, and a slow client could take longer.
  if (!stream_.link_leaves() && (!leaves() || !out_.empty())) return;
  // True if one call, of which nothing was sent, waits for this move to another link.
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

// In the state kDetached, opens a stream to the peer that keeps the connection to the server, or
// waits for a link to this peer. Does nothing in other states.
void ClientConnection::reach_server() {
  if (stream_.server() == Server::kDetached && !waits_for_link() && !have_stream()) {
    start_waiting();
  }
}

// Moves the stream to the new link to the same peer, between two calls. If no part of the current
// call was sent yet (the old link was congested), the current call uses the new link, too.
void ClientConnection::on_link_leaves() {
  detach_if_due();
  if (current_ == nullptr || current_->sent || waits_for_link()) return;
  if (!waits_for_lane()) wait_for(Wait::kLane);
  resume();
}

void ClientConnection::on_retired_peer_leaves() {
  if (mode_ != Mode::kCalls || !stream_.is_bound()) return;
  end_after_answers();
  close_if_done();
}

// --- To the successor ---

bool ClientConnection::leaves() const {
  const Successor* successor = worker_.successor();
  return successor != nullptr && mode_ == Mode::kCalls && !stays_ &&
         worker_.offers(endpoint_->config) && successor->wants(endpoint_->config.listen);
}

// Returns true if the client has not sent FIN and no request is arriving.
bool ClientConnection::may_be_handed_over() const {
  return input_ == Input::kOpen && !discarding_ && current_ == nullptr;
}

bool ClientConnection::between_calls() const {
  // True if a call waits for a link. A wait in the state kDetached does not count: there the
  // connection can wait without a call, which does not prevent a hand-over.
  const bool waits = waits_for_link() && stream_.server() != Server::kDetached;
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
  // The client's ring cannot move in this iteration: its handshake is not complete, or an RDMA lane
  // has borrowed a range of it. A later iteration tries again.
  if (descriptors.empty()) return true;
  detach_if_due();
  // Waits for the answer to the kDetach frame, or until the peer has taken the last oneway call.
  const Server server_now = stream_.server();
  if (server_now == Server::kDetaching || server_now == Server::kBound || !stream_.all_taken()) {
    return true;
  }
  if (waits_for_link()) stop_waiting();
  const KeptServer* server = server_now == Server::kDetached ? &stream_.kept() : nullptr;
  switch (server_now == Server::kPinned
              ? Successor::Answer::kNever
              : successor.take(endpoint_->config.listen, descriptors,
                               {reader_.held(), backlog_.bytes()}, server)) {
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

void ClientConnection::continue_from(Bytes read, const KeptServer* server) {
  if (server != nullptr) {
    if (!worker_.has_peer(server->peer)) {  // only the predecessor's configuration has the peer
      end_after_answers();
      return close_if_done();
    }
    stream_.continue_with(*server);
    reach_server();
  }
  if (!read.empty()) take(read);
}

}  // namespace hat
