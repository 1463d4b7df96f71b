// daemon/fallback.h: why a call that wanted RDMA went over TCP, as one list.
//
// The token is stable: it is the `reason` label of hatrpc_fallbacks_total, and stands in
// docs/operations.md.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace hat {

enum class Fallback : uint8_t { kNoFabric, kPeerHasNone, kOpening, kRefused, kDown, kSettling };

struct FallbackText {
  std::string_view token;
  std::string_view meaning;
};

inline constexpr std::array kFallbackTexts = {
    FallbackText{"no_fabric", "this node has no RDMA fabric, or is told to use none"},
    FallbackText{"peer_has_none", "the peer daemon has no RDMA lanes"},
    FallbackText{"opening", "the lane was asked for and is not up yet"},
    FallbackText{"refused", "the lane could not be made; it is tried again, less and less often"},
    FallbackText{"down", "the lane failed; it is made again after a pause"},
    FallbackText{"settling", "the lane failed, is up again, and not for limits.lane_settle yet"},
};
inline constexpr size_t kFallbackCount = kFallbackTexts.size();

constexpr const FallbackText& text(Fallback why) {
  return kFallbackTexts[static_cast<size_t>(why)];
}

}  // namespace hat
