// SPDX-License-Identifier: Apache-2.0
// tests/counting_new.h: the number of memory allocations that the program has made so far. The
// program must be linked with tests/counting_new.cc.
#pragma once

#include <cstdint>

namespace hat {

uint64_t allocation_count();

}  // namespace hat
