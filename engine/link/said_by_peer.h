// SPDX-License-Identifier: Apache-2.0
// engine/link/said_by_peer.h: makes a peer's text safe to show: the reasons that peers give go into
// logs, replies and pages.
#pragma once

#include <string>

#include "base/printable.h"
#include "engine/lane.h"

namespace hat::engine {

inline constexpr size_t kReasonBytesMax = 1024;

// Returns the text made printable and cut to kReasonBytesMax.
inline std::string said_by_peer(Bytes text) {
  return printable({reinterpret_cast<const char*>(text.data()), text.size()}, kReasonBytesMax);
}

}  // namespace hat::engine
