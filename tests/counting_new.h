// SPDX-License-Identifier: Apache-2.0
// tests/counting_new.h: how often this program has allocated, where it is linked with
// tests/counting_new.cc.
#pragma once

#include <cstdint>

namespace hat {

uint64_t allocation_count();

}  // namespace hat
