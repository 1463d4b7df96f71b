// SPDX-License-Identifier: Apache-2.0
// bench/dds/outcome.h: the result of an operation on a distributed structure.
#pragma once

#include <cstdint>

namespace hat::bench {

enum class Outcome : uint8_t {
  kDone,
  kFull,     // push, insert: no space
  kEmpty,    // pop: no value
  kMissing,  // find: no such key
  // The fabric failed, or another client held something for so long that this one stopped waiting.
  kLost,
};

}  // namespace hat::bench
