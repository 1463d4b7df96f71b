// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/loop_fabric.h: a fabric between processes of one host that has no RDMA device.
//
// All registered memory is shared memory. The thread that posts does the one-sided work itself, in
// the other side's memory; a SEND is copied straight from the sender's memory into the receive by
// the thread that polls. So nothing happens in the background: a completion of what the other side
// must take comes when that side polls.
//
// Bounds   kRegionsMax regions, loop::kRingEntries requests out per queue pair.
// Differs  from a device: a death of the other process is noticed by next_event(), since no device
//          is there to retry; completion queues never overflow; a one-sided request takes effect
//          when it is posted, perhaps before an earlier SEND has found its receive, and it has
//          taken effect though it is flushed because that SEND failed.
// Thread   as Fabric; one fabric per thread or several, also in one process.
#pragma once

#include "engine/fabric/fabric.h"

namespace hat::engine {

Result<std::unique_ptr<Fabric>> open_loop_fabric();
// Which of two queue pairs knocks at the other's door is decided by the seed, so that a run in one
// thread takes the same path each time. Their addresses can be guessed then.
Result<std::unique_ptr<Fabric>> open_loop_fabric_with(uint64_t seed);

}  // namespace hat::engine
