// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/checksum.h"

#include <xxhash.h>

namespace hat::atb {

uint64_t checksum(std::string_view request, std::string_view answer) {
  return XXH3_64bits_withSeed(answer.data(), answer.size(),
                              XXH3_64bits(request.data(), request.size()));
}

}  // namespace hat::atb
