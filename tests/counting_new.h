// SPDX-License-Identifier: Apache-2.0
// tests/counting_new.h: counts the program's allocations, if it is linked with
// tests/counting_new.cc.
#pragma once

#include <cstdint>

namespace hat {

uint64_t allocation_count();

}  // namespace hat
