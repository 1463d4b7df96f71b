// SPDX-License-Identifier: Apache-2.0
// base/accept_pause.h: what a listener does when the process has no descriptor left for who
// connects. accept(2) fails, and the connection stays in the backlog: the listening socket stays
// readable, and a thread that waits for it would spin. The listener therefore waits for
// kAcceptPause, without watching its socket, and tries again.
#pragma once

#include <cerrno>
#include <chrono>

namespace hat {

inline constexpr std::chrono::milliseconds kAcceptPause{100};

// `error`: the errno of a failed accept4(). Any other error has taken the connection out of the
// backlog, or there was none.
inline bool accept_must_pause(int error) {
  return error == EMFILE || error == ENFILE || error == ENOBUFS || error == ENOMEM;
}

}  // namespace hat
