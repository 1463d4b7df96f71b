// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/loop_fabric.h: a fabric between processes of one host, without an RDMA device.
//
// All memory that a peer may name is shared memory. The thread that posts a one-sided request
// carries it out itself, in the peer's memory. The receiver's thread copies a SEND straight from
// the sender's memory into the receive, when it polls. So nothing happens in the background: a
// request that the peer must take completes only after the peer has polled.
//
// Bounds   loop::kRegionsMax regions, loop::kRingEntries outstanding requests per queue pair.
// Differs  from a device: next_event() notices the death of the peer's process, since no device
//          retries; completion queues never overflow; a one-sided request takes effect when it is
//          posted, perhaps before an earlier SEND has found its receive. If that SEND fails, the
//          one-sided request is flushed although it has taken effect.
// Thread   as Fabric. A thread may own several fabrics, and so may the threads of one process.
#pragma once

#include "engine/fabric/fabric.h"

namespace hat::engine {

Result<std::unique_ptr<Fabric>> open_loop_fabric();
// Opens a fabric that takes the nonces in its queue pairs' addresses from `seed`. So the seed
// decides which of two queue pairs connects to the other, and a run in one thread takes the same
// path each time. The nonces can be guessed.
Result<std::unique_ptr<Fabric>> open_loop_fabric_with(uint64_t seed);

}  // namespace hat::engine
