// SPDX-License-Identifier: Apache-2.0
// bench/dds/outcome.h: what became of an operation on a distributed structure.
#pragma once

#include <cstdint>

namespace hat::bench {

enum class Outcome : uint8_t {
  kDone,
  kFull,     // push, insert: there is no room
  kEmpty,    // pop: there is nothing
  kMissing,  // find: there is no such key
  kLost,     // the fabric failed, or another client holds what this one waits for, for too long
};

}  // namespace hat::bench
