// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/fake_peers.h: a worker with several peers, for tests of the choice among
// them.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {

// A node with the peers host-b, host-c and host-d, which all serve the endpoint's service.
class FakePeersTest : public testing::Test {
 protected:
  FakePeersTest() {
    node_.receive(node_.peer_wire(), hello_bytes("host-b", ""));
    links_.push_back(node_.peer_wire());
    for (const char* const name : {"host-c", "host-d"}) add_peer(name);
    node_.reactor.end_iteration();
  }

  void add_peer(const std::string& name) {
    NodeConfig next = configuration();
    next.peers.push_back({name, *parse_address("tcp:127.0.0.1:9467"), {}});
    next.endpoints[0].peers.push_back(name);
    node_.set_node(next);
    links_.push_back(node_.reactor.wires.back());
    node_.receive(links_.back(), hello_bytes(name, ""));
  }
  void end_link(size_t link) {
    links_[link]->error = ECONNRESET;
    links_[link]->events->on_readable();
    node_.reactor.end_iteration();
  }

  NodeConfig configuration() const { return node_.worker->node(); }
  // Lets a new client make a call. Returns the index of the link that carries it.
  size_t call() {
    clients_.push_back(node_.connect_client());
    return call(clients_.back());
  }
  size_t call(const FakeNode::Wire& client) {
    for (const auto& link : links_) link->written.clear();
    node_.receive(client, strict_message(thrift::MessageType::kCall, "get", 1));
    node_.reactor.end_iteration();
    for (size_t i = 0; i < links_.size(); ++i) {
      const auto kinds = kinds_in(links_[i]->written);
      if (std::ranges::find(kinds, engine::FrameKind::kCall) != kinds.end()) return i;
    }
    ADD_FAILURE() << "no link carries the call";
    return links_.size();
  }
  // Answers a call of a stream.
  void answer(size_t link, uint32_t stream, uint64_t call = 1,
              CallOutcome outcome = CallOutcome::kSuccess) {
    const auto flags = static_cast<uint8_t>(static_cast<uint8_t>(outcome) << engine::kOutcomeShift);
    const engine::FrameHeader header{.kind = engine::FrameKind::kReply,
                                     .flags = static_cast<uint8_t>(flags | engine::kLastPiece),
                                     .stream = stream,
                                     .call = call};
    node_.receive(links_[link], frame_bytes(header, "reply"));
    node_.reactor.end_iteration();
  }
  // Lets the peer report the failure of a call.
  void fail(size_t link, uint32_t stream, uint64_t call, engine::Failure failure) {
    const engine::FailMeta meta{failure, 1};
    node_.receive(
        links_[link],
        frame_bytes(
            {.kind = engine::FrameKind::kFail, .replies = 1, .stream = stream, .call = call},
            std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
    node_.reactor.end_iteration();
  }
  // Lets the client make a call, which is answered at once. Returns the index of its link.
  size_t answered_call(const FakeNode::Wire& client) {
    const size_t link = call(client);
    for (const engine::FrameHeader& header : headers_in(links_[link]->written)) {
      if (header.kind != engine::FrameKind::kCall) continue;
      answer(link, header.stream, header.call);
      break;
    }
    return link;
  }
  // Lets the peer report that the client of the stream has a server of its own.
  void keep_at(size_t link, uint32_t stream) {
    node_.receive(links_[link], frame_bytes({.kind = engine::FrameKind::kBound, .stream = stream}));
  }
  // Lets new clients make calls one after another, each of which is answered at once. Returns how
  // many calls each link carries.
  std::vector<int> calls_that_are_answered(int count) {
    std::vector<int> by_link(links_.size());
    for (int i = 0; i < count; ++i) {
      const size_t link = call();
      answer(link, ++streams_[link]);
      ++by_link[link];
    }
    return by_link;
  }

  static constexpr const char* kNames[] = {"host-b", "host-c", "host-d"};
  uint64_t ejections(size_t link) const {
    return node_.counters.peer_events.count(kNames[link], PeerEvent::kEjection);
  }

  FakeNode node_{without_pings()};
  std::vector<FakeNode::Wire> links_;
  std::vector<FakeNode::Wire> clients_;
  std::vector<uint32_t> streams_ = std::vector<uint32_t>(4);  // the last stream on each link
};

}  // namespace hat
