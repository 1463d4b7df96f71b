// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_moves.cc: moves a mirrored connection to a server from one stream to
// another, in a takeover of this daemon or of the peer
// (daemon/proxy/inbound/detached_connections.h).
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameKind;

namespace {

constexpr Duration kTryAgain = std::chrono::milliseconds(5);
// How long a stream waits until no bytes are on their way to the server or from it.
constexpr Duration kDetachTime = std::chrono::seconds(1);
// How long a stream waits for a connection that the predecessor may still send.
constexpr Duration kAttachTime = std::chrono::seconds(5);

}  // namespace

bool ServerStream::can_move() const {
  const bool may =
      server_ == Server::kAttaching || server_ == Server::kBound || server_ == Server::kDetaching;
  return may && !opaque_ && knows_moves(link_.session->peer());
}

// --- Away ---

void ServerStream::on_detach() {
  if (server_ == Server::kEnded) return;  // the kEnd is still on its way to the peer
  // A peer detaches only a bound stream, between two calls.
  if (server_ != Server::kBound || opaque_ || !calls_.empty()) return reset();
  server_ = Server::kDetaching;
  moves_until_ = worker_.reactor().now() + kDetachTime;
  read_if_room();
  try_detach();
}

void ServerStream::try_detach() {
  const bool leaves_for_good = worker_.leaves_for_good();
  const bool late = worker_.reactor().now() >= moves_until_;
  if (leaves_for_good && (late || upstream_->takes_all())) {
    return lose_upstream(Failure::kDraining, true,
                         "node " + worker_.node().node + " is shutting down");
  }
  // The successor is gone, and no other process could be asked for the connection.
  if (link_.leaves() && worker_.successor() == nullptr && !leaves_for_good) return pin();
  auto connection = leaves_for_good ? std::nullopt : upstream_->duplicate();
  if (!connection) return late ? pin() : worker_.deadlines().set(*this, kTryAgain);
  const auto names = link_.session->peer_names();
  connection->service = served_.service;
  connection->server = to_string(served_.upstream);
  connection->peer = link_.session->peer().node;
  connection->peer_names.assign(names.begin(), names.end());
  const auto token = worker_.detached().keep(std::move(*connection), worker_.reactor().now());
  if (!token) return pin();
  worker_.counters().upstreams_detached.add();
  upstream_->abandon();
  lane().send({.kind = FrameKind::kDetached, .stream = id_}, {*token});
  closed_ = true;
  worker_.defer_delete(link_, id_);
}

void ServerStream::pin() {
  server_ = Server::kPinned;
  send_control(FrameKind::kDetached);
  read_if_room();
}

// --- Here ---

void ServerStream::attach(const engine::ConnectionToken& token) {
  if (pooled_) return reset();
  token_ = token;
  server_ = Server::kAttaching;
  moves_until_ = worker_.reactor().now() + kAttachTime;
  try_attach();
}

void ServerStream::try_attach() {
  // more_may_come() is read before claim(), so that a connection which arrives in between is found.
  const bool may_come =
      worker_.detached().more_may_come() && worker_.reactor().now() < moves_until_;
  auto connection =
      worker_.detached().claim(token_, link_.session->peer().node, link_.session->peer_names());
  if (!connection && may_come) return worker_.deadlines().set(*this, kTryAgain);
  // The configuration may have changed with the process.
  const bool fits = connection && connection->service == served_.service &&
                    connection->server == to_string(served_.upstream);
  if (!fits) {
    return reset(Failure::kUpstreamClosed,
                 to_string(served_.upstream) + ": the connection was not kept");
  }
  worker_.counters().upstreams_attached.add();
  upstream_ = worker_.upstreams().adopt(served_, std::move(*connection));
  upstream_->set_user(this);
  server_ = Server::kBound;
  send_control(FrameKind::kBound);
  read_if_room();
  answer_sync();
  if (opaque_) {
    write_held();
    return close_if_done();
  }
  advance();
  if (!closed_) pass_end();
}

}  // namespace hat
