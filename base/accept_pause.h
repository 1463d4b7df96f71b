// SPDX-License-Identifier: Apache-2.0
// base/accept_pause.h: how long a listener pauses after accept(2) failed because the process or the
// kernel lacks descriptors or memory.
//
// After such a failure the connection stays in the backlog and the listening socket stays readable,
// so a thread that waits for the socket to be readable would spin. Instead, the listener ignores
// its socket for kAcceptPause and then tries again.
#pragma once

#include <cerrno>
#include <chrono>

namespace hat {

inline constexpr std::chrono::milliseconds kAcceptPause{100};

// Returns true if, after accept4() has failed with errno `error`, the connection is still in the
// backlog, so that the listener must pause.
inline bool accept_must_pause(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace hat
