// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/stream_state.h: the part of a stream to a peer that stays with the stream
// when it passes from one client connection to another, between two calls.
//
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <utility>

#include "daemon/proxy/stream_delivery.h"
#include "engine/frame.h"
#include "engine/receive_window.h"

namespace hat {

class ClientConnection;

struct StreamState {
  // The stream's number and its client connection, in the PeerLink; null: there is no stream.
  std::pair<const uint32_t, ClientConnection*>* entry = nullptr;
  uint32_t lane = 0;  // 0: the link's TCP connection
  engine::LaneCounts counts;
  StreamDelivery delivery;
  uint64_t next_ordinal = 1;
  int64_t send_credit = engine::kStreamWindowBytes;
  engine::ReceiveWindow window;

  // Records that a frame has arrived from the lane with this number: counts it, and adds the credit
  // that the peer grants by it.
  void note_frame(const engine::FrameHeader& header, uint32_t from_lane) {
    send_credit += header.credit;
    if (from_lane != 0) ++counts.received;
  }
};

}  // namespace hat
