// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/loop_fabric.h: a fabric between processes of one host, without an RDMA device.
//
// All memory that a peer can access is shared memory. The thread that posts a one-sided request
// (WRITE, READ, atomic) performs the request at once, in the peer's memory. The receiver's thread
// copies the bytes of a SEND from the sender's memory into the receive when the receiver polls. No
// thread works in the background, so a SEND or WRITE_WITH_IMM completes only after the receiver has
// polled.
//
// The loop fabric differs from a device in three ways:
//   - No device notices that the peer's process has died; next_event() does.
//   - Completion queues never overflow.
//   - A one-sided request takes effect when it is posted, even if an earlier SEND still waits for a
//     receive. If that SEND fails, the one-sided request completes as kFlushed although it has
//     taken effect.
//
// Bounds   loop::kRegionsMax regions, loop::kRingEntries outstanding requests per queue pair.
// Thread   As for Fabric. One thread, or several threads of one process, may own several fabrics.
#pragma once

#include <string>

#include "engine/fabric/fabric.h"

namespace hat::engine {

Result<std::unique_ptr<Fabric>> open_loop_fabric();
// Opens a fabric whose unix sockets are files in `folder`, so that it also reaches processes of
// other network namespaces of this host that use the same folder. Returns an error if the folder
// does not exist, belongs to another user, or others may write to it. Removes the files that killed
// processes have left there.
Result<std::unique_ptr<Fabric>> open_loop_fabric_in(const std::string& folder);
// Opens a fabric that derives the nonces in its queue pairs' addresses from `seed`. These nonces
// decide which of two queue pairs connects to the other queue pair, so a run in one thread is
// reproducible. Nonces from a seed can be guessed.
Result<std::unique_ptr<Fabric>> open_loop_fabric_with(uint64_t seed);

}  // namespace hat::engine
