// SPDX-License-Identifier: Apache-2.0
// client/preload/poller.h: poll(2) over rings and other descriptors.
//
// The rings are looked at where they are. Only where nothing is there is the kernel asked to wait,
// for the rings' bells and whatever the other descriptors are polled for.
#pragma once

#include <poll.h>

#include <csignal>
#include <ctime>

namespace hatrpc::preload {

// Whether there is a ring among them; else the C library's own function does it all.
bool has_rings(pollfd* fds, nfds_t count);
// As ppoll(2).
int poll_rings(pollfd* fds, nfds_t count, const timespec* timeout, const sigset_t* mask);

}  // namespace hatrpc::preload
