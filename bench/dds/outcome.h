// SPDX-License-Identifier: Apache-2.0
// bench/dds/outcome.h: the result of an operation on a distributed queue or hash table.
#pragma once

#include <cstdint>

namespace hat::bench {

enum class Outcome : uint8_t {
  kDone,
  kFull,     // push, insert: no space
  kEmpty,    // pop: no value
  kMissing,  // find: no such key
  // The fabric failed, or the operation has waited too long for another client.
  kLost,
};

}  // namespace hat::bench
