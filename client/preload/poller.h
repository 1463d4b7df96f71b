// SPDX-License-Identifier: Apache-2.0
// client/preload/poller.h: poll(2) over rings and other descriptors.
//
// The poller reads the state of rings in shared memory. It waits in the kernel only if no ring is
// ready, for the rings' doorbells and for the events of the other descriptors.
#pragma once

#include <poll.h>

#include <csignal>
#include <ctime>

namespace hatrpc::preload {

// Returns true if a ring is among `fds`; otherwise the C library's own function does all the work.
bool has_rings(pollfd* fds, nfds_t count);
// Behaves as ppoll(2).
int poll_rings(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask);

}  // namespace hatrpc::preload
