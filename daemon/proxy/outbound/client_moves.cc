// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/client_moves.cc: a client connection in a takeover.
//
// The connection moves to this daemon's successor, or its stream moves to the peer's successor. Its
// connection to the server moves too, between two calls.
#include <algorithm>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameKind;

// Returns the peers to which a new stream may lead.
std::span<const std::string> ClientConnection::peers() const {
  if (server_ == Server::kDetached) return {&kept_.peer, 1};
  return worker_.node().endpoints[endpoint_].peers;
}

// --- The connection to the server ---

bool ClientConnection::link_leaves() const {
  return stream_id_ != 0 && !peer_->link->takes_calls();
}

// Returns true if the application continues, so that its connection to the server should move and
// not end.
bool ClientConnection::may_detach() const {
  return life_ == Life::kOpen && mode_ == Mode::kCalls && input_ == Input::kOpen;
}

// Called whenever a move may have become due: the last call has ended, the link or this daemon
// begins to leave, or another move has ended.
void ClientConnection::detach_if_due() {
  if (!may_detach() || stream_id_ == 0 || !opened_) return;
  // A slow reader stays until it has read everything, because the peer does not keep the token long
  // enough.
  if (!link_leaves() && (!leaves() || !out_.empty())) return;
  // A call waits for this move, and not for a lane.
  const bool begins = switches_ && link_leaves();
  if (calls_.size() > (begins ? 1 : 0)) return;
  if (!delivery_.all_taken()) return ask_whether_taken();
  if (server_ != Server::kBound || !peer_->link->up()) return;
  if (!knows_moves(peer_->link->session().peer())) {
    server_ = Server::kPinned;
    return;
  }
  if (!worker_.begin_move()) return;
  server_ = Server::kDetaching;
  send_control(FrameKind::kDetach);
}

void ClientConnection::on_detached(Bytes payload) {
  if (server_ != Server::kDetaching) return;
  if (payload.empty() && mode_ == Mode::kCalls) return end_move(Server::kPinned);
  KeptServer kept{peer_->link->peer(), {}};
  if (payload.size() != kept.token.size() || mode_ != Mode::kCalls) return close(true);
  std::ranges::copy(payload, kept.token.begin());
  peer_->streams.erase(stream_id_);
  server_ = Server::kAny;  // so that forget_stream() does not end the move
  forget_stream();
  kept_ = std::move(kept);
  server_ = Server::kDetached;
  if (current_ != nullptr) {
    find_way(*current_);
  } else if (!leaves() || !may_be_handed_over()) {
    reach_server();
  }
}

void ClientConnection::end_move(Server next) {
  if (moves()) worker_.end_move();
  server_ = next;
}

void ClientConnection::reach_server() {
  if (server_ == Server::kDetached && !waiting_ && !have_stream()) start_waiting();
}

// Attaches the kept connection to the stream that was just opened.
void ClientConnection::attach() {
  const std::string& service = worker_.node().endpoints[endpoint_].service;
  lane().send({.kind = FrameKind::kAttach, .stream = stream_id_},
              {kept_.token, std::as_bytes(std::span(service))});
  end_move(Server::kBound);
  opened_ = true;
  delivery_.send_unanswered();
  ask_whether_taken();
}

// The link ends in good order, and its streams leave it between two calls. A call that was to use
// the link, and of which no part was sent because the link was congested, uses the next link.
void ClientConnection::on_link_leaves() {
  detach_if_due();
  if (current_ == nullptr || current_->sent || waiting_) return;
  switches_ = true;
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
  const bool waits = waiting_ && server_ != Server::kDetached;  // with a call
  return may_be_handed_over() && calls_.empty() && !waits && !taking_ && out_.empty();
}

bool ClientConnection::hand_over(Successor& successor) {
  if (life_ != Life::kOpen || !leaves()) return true;
  if (!between_calls()) {
    if (!may_be_handed_over() && server_ == Server::kDetached && !waiting_) {
      reach_server();
      resume();
    }
    return true;
  }
  const auto descriptors = stream_->descriptors();
  // Not now: the ring's handshake is not complete, or a lane reads from the ring.
  if (descriptors.empty()) return true;
  detach_if_due();
  // The peer may not have received a oneway call yet, or its answer to kDetach may not have
  // arrived.
  if (opened_ &&
      (server_ == Server::kDetaching || server_ == Server::kBound || !delivery_.all_taken())) {
    return true;
  }
  if (waiting_) stop_waiting();
  const KeptServer* server = server_ == Server::kDetached ? &kept_ : nullptr;
  switch (server_ == Server::kPinned ? Successor::Answer::kNever
                                     : successor.take(endpoint_, descriptors,
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

void ClientConnection::go_on(Bytes read, const KeptServer* server) {
  if (server != nullptr) {
    if (!worker_.has_peer(server->peer)) {  // the new configuration does not have that peer
      end_after_answers();
      return close_if_done();
    }
    kept_ = *server;
    server_ = Server::kDetached;
    worker_.add_move();
    reach_server();
  }
  if (!read.empty()) take(read);
}

}  // namespace hat
