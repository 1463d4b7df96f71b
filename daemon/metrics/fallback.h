// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/fallback.h: why a call that wanted RDMA went over TCP, as one list.
//
// The names are stable: they are the `reason` label of hatrpc_fallbacks_total, and
// docs/reference.md says what to do about each.
#pragma once

#include <array>
#include <cstdint>

namespace hat {

enum class Fallback : uint8_t {
  kNoFabric,     // this node has no RDMA fabric, or is told to use none
  kPeerHasNone,  // the peer daemon has no RDMA lanes
  kOpening,      // the lane was asked for and is not up yet
  kRefused,      // the lane could not be made; it is tried again, less and less often
  kDown,         // the lane failed; it is made again after a pause
  kSettling,     // the lane failed, is up again, and not for limits.lane_settle yet
  kUnanswered,   // calls before it on its connection went over TCP and are unanswered
};

inline constexpr std::array kFallbackNames = {"no_fabric", "peer_has_none", "opening",   "refused",
                                              "down",      "settling",      "unanswered"};
inline constexpr size_t kFallbackCount = kFallbackNames.size();

constexpr const char* name(Fallback why) { return kFallbackNames[static_cast<size_t>(why)]; }

}  // namespace hat
