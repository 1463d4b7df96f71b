// SPDX-License-Identifier: Apache-2.0
// tests/counting_new.cc: replaces operator new by a version that counts its calls, for tests.
#include "tests/counting_new.h"

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace hat {
namespace {
std::atomic<uint64_t> count = 0;
}
uint64_t allocation_count() { return count.load(std::memory_order_relaxed); }
}  // namespace hat

void* operator new(size_t size) {
  hat::count.fetch_add(1, std::memory_order_relaxed);
  if (void* memory = std::malloc(size > 0 ? size : 1)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t) noexcept { std::free(memory); }
