// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/connection.h"

#include <algorithm>

namespace hatrpc::rdma {

using hat::ErrorCode;

hat::Result<std::unique_ptr<Connection>> Connection::open(Prepared prepared,
                                                          hat::TimePoint deadline) {
  HAT_TRY(std::unique_ptr<InnerNode> node, InnerNode::open(std::move(prepared)));
  std::unique_ptr<Connection> connection(new Connection(std::move(node)));
  HAT_TRY_VOID(connection->await_link(deadline));
  return connection;
}

Connection::Connection(std::unique_ptr<InnerNode> node)
    : node_(std::move(node)), stream_(std::make_shared<ApplicationStream>(node_->loop())) {
  node_->loop()->in_loop([this] {
    node_->worker().accept_client(
        0, [this](hat::StreamEvents& events) { return stream_->worker_side(events); });
  });
  keeper_->add(node_->loop());
}

Connection::~Connection() {
  keeper_->remove(*node_->loop());
  stream_->close();
  // Sends what was written before, such as a oneway call.
  const auto now = std::chrono::steady_clock::now();
  node_->loop()->in_loop([this] { node_->worker().begin_drain(); });
  node_->loop()->lead_until([this] { return node_->worker().drained(); }, now + kDrainTime);
}

std::string Connection::describe() const {
  std::string text = node_->fabric();
  node_->loop()->in_loop([&] {
    for (const auto& link : node_->worker().link_status()) {
      for (const auto& lane : link.lanes) text += "; " + lane.protocol + ": " + lane.state;
    }
  });
  return text;
}

hat::Result<void> Connection::await_link(hat::TimePoint deadline) {
  hat::Worker& worker = node_->worker();
  const auto& peers = worker.node().endpoints.front().peers;
  enum class State : uint8_t { kWaits, kUp, kDown } state = State::kWaits;
  const auto is_decided = [&] {
    const auto links = worker.link_status();
    const auto is_up = [](const auto& link) { return link.state == hat::engine::LinkState::kUp; };
    const auto is_down = [](const auto& link) {
      return link.state == hat::engine::LinkState::kDown;
    };
    if (std::ranges::any_of(links, is_up)) {
      state = State::kUp;
    } else if (std::ranges::all_of(links, is_down)) {
      state = State::kDown;
    }
    return state != State::kWaits;
  };
  node_->loop()->lead_until(is_decided, deadline);
  if (state == State::kUp) return {};
  std::string errors;
  node_->loop()->in_loop([&] { errors = worker.peer_errors(peers); });
  return hat::fail(ErrorCode::kUnavailable, errors);
}

}  // namespace hatrpc::rdma
