// SPDX-License-Identifier: Apache-2.0
// engine/rdma/sum.h: the checksum of a message that the receiver finds by polling memory.
//
// XXH3 (libxxhash), 64 bits, of the frame and the payload, seeded with the message's number. The
// checksum is correct only if the whole message has arrived, and if the slot does not still contain
// an earlier message.
#pragma once

#include <cstddef>
#include <cstdint>

#include "engine/rdma/wire.h"

namespace hat::engine {

// Returns the checksum of a message; `payload` has envelope.frame.payload_bytes bytes.
uint64_t sum_of(const Envelope& envelope, const std::byte* payload);

}  // namespace hat::engine
