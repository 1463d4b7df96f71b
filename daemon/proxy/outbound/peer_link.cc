// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/peer_link.h"

#include <algorithm>

#include "daemon/proxy/outbound/client_connection.h"

namespace hat {

void PeerLink::on_stream_frame(const engine::FrameHeader& header, engine::Bytes payload) {
  const auto stream = streams.find(header.stream);
  if (stream != streams.end()) stream->second->on_frame(header, payload);
}

void PeerLink::end_stream(uint32_t stream, uint32_t lane, engine::FrameKind farewell) {
  const uint64_t number = this->lane(lane).send({.kind = farewell, .stream = stream}, {});
  if (lane != 0) farewells_.push_back({stream, lane, number});
}

void PeerLink::flush() {
  if (!lanes) {
    farewells_.clear();
  } else if (!farewells_.empty()) {
    std::erase_if(farewells_, [&](const Farewell& one) {
      const engine::Lane* lane = lanes->find(one.lane);
      return lane == nullptr || lane->fate(one.number) == engine::Fate::kDelivered;
    });
  }
  if (leaves && link->up() && (!lanes || lanes->all_taken())) {
    leaves = false;
    link->agree_to_go_away();
  }
  if (lanes) lanes->flush();
  link->flush();
}

void PeerLink::on_lane_uncongested(uint32_t lane) {
  stirred = true;
  // Copies the connections first: one that resumes may close, and is then erased from the map.
  std::vector<ClientConnection*> connections;
  for (const auto& [id, connection] : streams) {
    if (connection->lane_number() == lane) connections.push_back(connection);
  }
  for (ClientConnection* connection : connections) connection->on_link_uncongested();
}

bool PeerLink::has_clients(const std::vector<size_t>& endpoints) const {
  return std::ranges::any_of(streams, [&](const auto& stream) {
    return std::ranges::find(endpoints, stream.second->endpoint()) != endpoints.end();
  });
}

// Ends the streams on the lane at both sides: the frames on their way may or may not have arrived.
void PeerLink::on_lane_lost(uint32_t lane, const std::string& reason) {
  stirred = true;
  std::vector<std::pair<uint32_t, ClientConnection*>> lost;
  for (const auto& [id, connection] : streams) {
    if (connection->lane_number() == lane) lost.emplace_back(id, connection);
  }
  for (const auto& [id, connection] : lost) {
    streams.erase(id);
    reset(id);
  }
  std::erase_if(farewells_, [&](const Farewell& one) {
    if (one.lane != lane) return false;
    if (lanes->find(lane)->fate(one.number) != engine::Fate::kDelivered) reset(one.stream);
    return true;
  });
  for (const auto& [id, connection] : lost) connection->on_session_lost("RDMA lane: " + reason);
}

void PeerLink::reset(uint32_t stream) {
  if (link->up()) link->lane().send({.kind = engine::FrameKind::kReset, .stream = stream}, {});
}

}  // namespace hat
