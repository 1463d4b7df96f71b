// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/barrier.h: an asymmetric memory barrier between two processes. The process
// that often needs the barrier calls light_barrier(), which costs nothing. The process that rarely
// needs the barrier calls heavy_barrier(), which is a system call.
//
// Each process writes its own word and then reads the other process's word. With the barriers, at
// least one of the two processes reads the value that the other process wrote:
//
//   often    words.mine = 1; light_barrier(); if (words.yours) …
//   rarely   words.yours = 1; heavy_barrier(); if (words.mine) …
//
// heavy_barrier() makes the kernel run a full barrier on each core that runs a process which has
// called use_barriers() (membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED). Therefore light_barrier()
// only has to keep the compiler from reordering memory accesses.
#pragma once

#include <atomic>

namespace hat::engine::loop {

// Enables light_barrier() and heavy_barrier() for this process, and must be called before them.
// Returns false on failure; errno has the reason.
bool use_barriers();

inline void light_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
void heavy_barrier();  // a system call, which takes microseconds

}  // namespace hat::engine::loop
