// SPDX-License-Identifier: Apache-2.0
// engine/link/said_by_peer.h: a reason that a peer gives, which goes into logs, replies and pages.
#pragma once

#include <string>

#include "base/printable.h"
#include "engine/lane.h"

namespace hat::engine {

inline constexpr size_t kReasonBytesMax = 1024;

// As printable text, cut to kReasonBytesMax.
inline std::string said_by_peer(Bytes text) {
  return printable({reinterpret_cast<const char*>(text.data()), text.size()}, kReasonBytesMax);
}

}  // namespace hat::engine
