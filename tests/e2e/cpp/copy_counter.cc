// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/copy_counter.cc: libcopy-counter.so, which a test preloads into hatrpcd to count
// the bytes that the process copies.
//
// The library replaces memcpy and memmove. It counts the bytes of calls that copy at least
// kCounted bytes, so that it counts messages and not their headers. Calls that the compiler expands
// in place have a small constant size, and are not counted. The sum is 8 bytes in the file that the
// environment variable COPY_COUNTER names; the test reads it there.
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace {

constexpr size_t kCounted = 1024;

std::atomic<uint64_t>* shared_sum() {
  const char* path = std::getenv("COPY_COUNTER");
  const int file = path == nullptr ? -1 : open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || ftruncate(file, sizeof(uint64_t)) != 0) abort();
  void* there = mmap(nullptr, sizeof(uint64_t), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  close(file);
  if (there == MAP_FAILED) abort();
  return static_cast<std::atomic<uint64_t>*>(there);
}

std::atomic<uint64_t>* sum = nullptr;  // null: main() has not begun
__attribute__((constructor)) void begin() { sum = shared_sum(); }

void count(size_t bytes) {
  if (bytes >= kCounted && sum != nullptr) sum->fetch_add(bytes, std::memory_order_relaxed);
}

// Copies without a call of memcpy(), which a loop in C++ could become.
void copy_up(void* to, const void* from, size_t bytes) {
  asm volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(bytes) : : "memory");
}

void copy_down(void* to, const void* from, size_t bytes) {
  void* last_to = static_cast<char*>(to) + bytes - 1;
  const void* last_from = static_cast<const char*>(from) + bytes - 1;
  asm volatile("std; rep movsb; cld" : "+D"(last_to), "+S"(last_from), "+c"(bytes) : : "memory");
}

}  // namespace

extern "C" void* memcpy(void* to, const void* from, size_t bytes) {
  count(bytes);
  copy_up(to, from, bytes);
  return to;
}

extern "C" void* memmove(void* to, const void* from, size_t bytes) {
  count(bytes);
  if (reinterpret_cast<uintptr_t>(to) - reinterpret_cast<uintptr_t>(from) >= bytes) {
    copy_up(to, from, bytes);
  } else {
    copy_down(to, from, bytes);
  }
  return to;
}
