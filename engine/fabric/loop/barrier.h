// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/barrier.h: a memory barrier between two processes. The side that needs it
// rarely pays the whole cost.
//
// Two sides that each write one word and then read the other's must not both read the old value:
//
//   often    words.mine = 1; light_barrier(); if (words.yours) …
//   rarely   words.yours = 1; heavy_barrier(); if (words.mine) …
//
// heavy_barrier() makes the kernel run a full barrier on each core that runs a process which has
// called use_barriers() (membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED). So light_barrier() only
// has to keep the compiler from reordering, and the path of a message has no locked instruction.
#pragma once

#include <atomic>

namespace hat::engine::loop {

// Enables both barriers for this process. Call it before either of them. Returns false on failure;
// errno has the reason.
bool use_barriers();

inline void light_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
void heavy_barrier();  // a system call, microseconds

}  // namespace hat::engine::loop
