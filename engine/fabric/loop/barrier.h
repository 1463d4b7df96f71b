// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/barrier.h: a memory barrier between two processes whose whole price is paid by
// the one that needs it seldom.
//
// Two sides that each write one word and then read the other's must not both read the old value:
//
//   often    words.mine = 1; light_barrier(); if (words.yours) …
//   seldom   words.yours = 1; heavy_barrier(); if (words.mine) …
//
// heavy_barrier() has the kernel run a full barrier on each core that runs a process which called
// use_barriers() (membarrier(2), MEMBARRIER_CMD_GLOBAL_EXPEDITED), so that light_barrier() only has
// to keep the compiler from reordering: the path of a message holds no locked instruction.
#pragma once

#include <atomic>

namespace hat::engine::loop {

bool use_barriers();  // once per process, before the first of either. False: errno says why

inline void light_barrier() { std::atomic_signal_fence(std::memory_order_seq_cst); }
void heavy_barrier();  // a system call, microseconds

}  // namespace hat::engine::loop
