// SPDX-License-Identifier: Apache-2.0
// base/accept_pause.h: how long a listener pauses after accept(2) failed because the process or the
// kernel lacks descriptors or memory.
//
// In that case the connection stays in the backlog and the listening socket stays readable, so a
// thread that kept watching the socket would spin. Instead, the listener stops watching its socket
// for kAcceptPause and then tries again.
#pragma once

#include <cerrno>
#include <chrono>

namespace hat {

inline constexpr std::chrono::milliseconds kAcceptPause{100};

// Returns true if `error`, the errno of a failed accept4(), leaves the connection in the backlog.
inline bool accept_must_pause(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace hat
