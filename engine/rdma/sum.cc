// SPDX-License-Identifier: Apache-2.0
#include "engine/rdma/sum.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace hat::engine {

uint64_t sum_of(const Envelope& envelope, const std::byte* payload) {
  const uint64_t head =
      XXH3_64bits_withSeed(&envelope.frame, sizeof envelope.frame, envelope.sequence);
  return XXH3_64bits_withSeed(payload, envelope.frame.payload_bytes, head);
}

}  // namespace hat::engine
