// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/lane_options.h"

#include <algorithm>
#include <utility>

namespace hat::bench {

using namespace engine;

RdmaLaneOptions lane_options(const Settings& settings, bool server) {
  const auto bytes = static_cast<uint32_t>(std::clamp<size_t>(settings.bytes, 64, kSlotBytesMax));
  const auto shape = [&](Leg leg) {
    const uint32_t slot = row(leg).on_demand ? 64 : leg == Leg::kSend ? kEagerBytesMax : bytes;
    // Use 64 slots if a slot has at most 4096 bytes, and only 16 if the slots are larger.
    const auto slots = static_cast<uint16_t>(slot <= 4096 ? 64 : 16);
    return LaneShape{leg, settings.protocol->beyond, slots, slot};
  };
  RdmaLaneOptions options;
  options.out = shape(settings.protocol->request);
  options.in = shape(settings.protocol->response);
  if (settings.confirm_each) options.confirm_each = true;
  if (settings.polling == Polling::kEvent) options.bitmap.empty_polls_max = 2;
  if (server) std::swap(options.out, options.in);
  return options;
}

}  // namespace hat::bench
