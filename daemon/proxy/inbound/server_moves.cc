// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_moves.cc: moves a mirrored connection to a server from one stream to
// another, in a takeover of this daemon or of the peer
// (daemon/proxy/inbound/detached_connections.h).
#include "daemon/proxy/worker.h"

namespace hat {

using engine::Failure;
using engine::FrameKind;
using Bound = ServerBinding::State;

namespace {

constexpr Duration kTryAgain = std::chrono::milliseconds(5);
// How long, after a kDetach frame, bytes may still wait to be written to the server, or a reply may
// be arriving. If either is true after this time, the connection stays on its stream.
constexpr Duration kDetachTime = std::chrono::seconds(1);
// How long a new stream waits for the connection that its token names and that the predecessor may
// still send. After this time the stream is reset.
constexpr Duration kAttachTime = std::chrono::seconds(5);

}  // namespace

bool ServerStream::can_move() const {
  return binding_.can_move() && !is_opaque() && knows_moves(link_.peer());
}

// --- Away from this stream ---

void ServerStream::on_detach() {
  if (binding_.is(Bound::kEnded)) return;  // the peer sent kDetach before it received the kEnd
  // Resets a stream that is not bound or has a call: the peer must not detach such a stream.
  if (!binding_.is(Bound::kBound) || is_opaque() || !calls_.empty()) return reset();
  binding_.begin_detach(worker_.reactor().now() + kDetachTime);
  read_if_space();
  try_detach();
}

void ServerStream::try_detach() {
  const bool leaves_for_good = worker_.leaves_for_good();
  const bool late = worker_.reactor().now() >= binding_.moves_until();
  if (leaves_for_good && (late || upstream_->takes_all())) {
    return lose_upstream(Failure::kDraining, true,
                         "node " + worker_.node().node + " is shutting down");
  }
  // If the successor is gone, the connection stays on this stream, because the peer could not get
  // the connection from another process.
  if (link_.leaves() && worker_.successor() == nullptr && !leaves_for_good) return pin();
  auto connection = leaves_for_good ? std::nullopt : upstream_->duplicate();
  if (!connection) return late ? pin() : worker_.deadlines().set(attempt_, kTryAgain);
  const auto names = link_.peer_names();
  connection->service = served_->config.service;
  connection->server = upstream_text(served_->config);
  connection->peer = link_.peer().node;
  connection->peer_names.assign(names.begin(), names.end());
  const auto token = worker_.detached().keep(std::move(*connection), worker_.reactor().now());
  if (!token) return pin();
  worker_.counters().upstream.detached.add();
  upstream_->abandon();
  stream_.send_control(FrameKind::kDetached, *token);
  close();
}

void ServerStream::pin() {
  binding_.pin();
  stream_.send_control(FrameKind::kDetached);
  read_if_space();
}

// --- To this stream ---

void ServerStream::attach(const engine::ConnectionToken& token) {
  if (pooled_) return reset();
  binding_.begin_attach(token, worker_.reactor().now() + kAttachTime);
  try_attach();
}

void ServerStream::try_attach() {
  // more_may_come() is called before claim(). In the other order, the predecessor's last connection
  // could arrive between the two calls, and the stream would not find this connection.
  const bool may_come =
      worker_.detached().more_may_come() && worker_.reactor().now() < binding_.moves_until();
  auto connection =
      worker_.detached().claim(binding_.token(), link_.peer().node, link_.peer_names());
  if (!connection && may_come) return worker_.deadlines().set(attempt_, kTryAgain);
  // A connection to another service or another server is not used. The predecessor can have kept
  // such a connection, if its configuration was different.
  const bool fits = connection && connection->service == served_->config.service &&
                    connection->server == upstream_text(served_->config);
  if (!fits) {
    return reset(Failure::kUpstreamClosed,
                 upstream_text(served_->config) + ": the connection was not kept");
  }
  worker_.counters().upstream.attached.add();
  upstream_ = worker_.upstreams().adopt(served_, std::move(*connection));
  upstream_->set_user(this);
  binding_.bind();
  stream_.send_control(FrameKind::kBound);
  read_if_space();
  answer_sync();
  if (is_opaque()) {
    write_held();
    return close_if_done();
  }
  advance();
  if (!stream_.is_closed()) pass_end();
}

}  // namespace hat
