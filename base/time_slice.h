// SPDX-License-Identifier: Apache-2.0
// base/time_slice.h: requests short time slices for a thread that many threads of other processes
// wait for (docs/waiting.md).
#pragma once

namespace hat {

// Gives the calling thread time slices of 0.3 ms, in place of Linux' default of a few milliseconds.
// The kernel then runs the thread more often and for shorter times; its share of the processor
// stays the same. So the thread gets a core that it shares with many threads back soon after a
// yield. Threads with another scheduling policy than SCHED_OTHER stay as they are. Before Linux
// 6.12 the request has no effect. Returns false, with errno, if the kernel refuses the request.
bool request_short_time_slices();

}  // namespace hat
