// SPDX-License-Identifier: Apache-2.0
// client/preload/poller.h: implements poll(2) for rings and other descriptors.
//
// The poller first reads the state of the rings in shared memory. If no ring is ready, the poller
// waits in the kernel for the rings' doorbells and for the events of the other descriptors.
#pragma once

#include <poll.h>

#include <csignal>
#include <ctime>

namespace hatrpc::preload {

// Returns true if at least one of the `count` descriptors in `fds` is a ring.
bool has_rings(pollfd* fds, nfds_t count);
// Behaves as ppoll(2), and also reports the events of rings.
int poll_rings(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask);

}  // namespace hatrpc::preload
