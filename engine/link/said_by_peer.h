// SPDX-License-Identifier: Apache-2.0
// engine/link/said_by_peer.h: makes text that a peer daemon sent safe to show. A peer sends a
// reason when it refuses or ends something, and this reason appears in logs, in replies to clients
// and on the status page.
#pragma once

#include <string>

#include "base/printable.h"
#include "engine/lane.h"

namespace hat::engine {

inline constexpr size_t kReasonBytesMax = 1024;

// Returns `text` with unprintable characters replaced, cut to kReasonBytesMax.
inline std::string said_by_peer(Bytes text) {
  return printable({reinterpret_cast<const char*>(text.data()), text.size()}, kReasonBytesMax);
}

}  // namespace hat::engine
