// SPDX-License-Identifier: Apache-2.0
// engine/rdma/sum.h: the checksum of a message that is found by looking at memory.
//
// XXH3 (libxxhash), 64 bits, of the frame and the payload, seeded with the message's number: it
// agrees only where all of it has come, and is of this round through the slots.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/rdma/wire.h"

namespace hat::engine {

// `payload`: envelope.frame.payload_bytes of it.
uint64_t sum_of(const Envelope& envelope, const std::byte* payload);

}  // namespace hat::engine
