// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/fallback.h: the reasons why a call that wanted RDMA used TCP.
//
// The names are stable: they are the label `reason` of hatrpc_fallbacks_total, and
// docs/reference.md has a remedy for each.
#pragma once

#include <array>
#include <cstdint>

namespace hat {

enum class Fallback : uint8_t {
  kNoFabric,     // this node has no RDMA fabric, or its configuration disables RDMA
  kPeerHasNone,  // the peer daemon has no RDMA lanes
  kOpening,      // the lane was requested and is not up yet
  kRefused,      // the lane could not be made; the node tries again after growing pauses
  kDown,         // the lane failed; the node makes a new one after a pause
  kSettling,     // the lane failed and is up again, but not for limits.lane_settle yet
  kUnanswered,   // earlier calls of the connection used TCP and have no reply yet
};

inline constexpr std::array kFallbackNames = {"no_fabric", "peer_has_none", "opening",   "refused",
                                              "down",      "settling",      "unanswered"};
inline constexpr size_t kFallbackCount = kFallbackNames.size();

constexpr const char* name(Fallback why) { return kFallbackNames[static_cast<size_t>(why)]; }

}  // namespace hat
