// SPDX-License-Identifier: Apache-2.0
#include "bench/model/card.h"

#include <algorithm>

namespace hat::model {
namespace {

// Returns how long the card and the wire are busy with a message with this payload.
Time work_for(const Hardware& hardware, uint64_t bytes) {
  const uint64_t packets =
      std::max<uint64_t>(1, (bytes + hardware.packet_bytes - 1) / hardware.packet_bytes);
  const Time wire = time_for(bytes + packets * hardware.packet_head_bytes, hardware.wire_per_ns);
  return std::max(hardware.message, wire);
}

}  // namespace

Time time_for(uint64_t bytes, double per_ns) {
  return Time(static_cast<int64_t>(static_cast<double>(bytes) / per_ns));
}

Time on_pcie(const Hardware& hardware, uint64_t bytes) {
  return time_for(std::min<uint64_t>(bytes, hardware.piece_bytes), hardware.pcie_per_ns);
}

Time Card::send(const Hardware& hardware, Time ready, uint64_t bytes) {
  sends_until_ = std::max(ready, sends_until_) + work_for(hardware, bytes);
  return sends_until_;
}

Time Card::receive(const Hardware& hardware, Time arrived, uint64_t bytes) {
  receives_until_ = std::max(arrived, receives_until_ + work_for(hardware, bytes));
  return receives_until_;
}

}  // namespace hat::model
