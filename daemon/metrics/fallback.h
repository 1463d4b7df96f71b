// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/fallback.h: the reasons why a call that wanted RDMA used TCP, as one list.
//
// The names are stable: they are the `reason` label of hatrpc_fallbacks_total, and
// docs/reference.md gives a remedy for each.
#pragma once

#include <array>
#include <cstdint>

namespace hat {

enum class Fallback : uint8_t {
  kNoFabric,     // this node has no RDMA fabric, or its configuration disables RDMA
  kPeerHasNone,  // the peer daemon has no RDMA lanes
  kOpening,      // the lane was requested and is not up yet
  kRefused,      // the lane could not be made; the node tries again, less and less often
  kDown,         // the lane failed; the node makes it again after a pause
  kSettling,     // the lane failed and is up again, but not for limits.lane_settle yet
  kUnanswered,   // earlier calls of the connection used TCP and are unanswered
};

inline constexpr std::array kFallbackNames = {"no_fabric", "peer_has_none", "opening",   "refused",
                                              "down",      "settling",      "unanswered"};
inline constexpr size_t kFallbackCount = kFallbackNames.size();

constexpr const char* name(Fallback why) { return kFallbackNames[static_cast<size_t>(why)]; }

}  // namespace hat
