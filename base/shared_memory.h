// SPDX-License-Identifier: Apache-2.0
// base/shared_memory.h: memory that other processes can map: a sealed memfd, and where it lies
// here.
//
// Its size never changes (F_SEAL_GROW, F_SEAL_SHRINK), so that nobody who has mapped it can be made
// to fault. Memory from another process is refused where it is not sealed so.
#pragma once

#include <cstddef>
#include <span>

#include "base/result.h"

namespace hat {

class SharedMemory {
 public:
  // Zeroes, rounded up to whole pages. `name` is for people who read /proc/PID/maps.
  static Result<SharedMemory> create(const char* name, size_t bytes);
  // What another process made; takes the descriptor, also where it fails.
  static Result<SharedMemory> map(int fd);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  int fd() const { return fd_; }
  std::span<std::byte> bytes() const { return bytes_; }
  void close_descriptor();  // the memory stays mapped

 private:
  explicit SharedMemory(int fd) : fd_(fd) {}
  Result<void> map_all();

  int fd_ = -1;
  std::span<std::byte> bytes_;
};

}  // namespace hat
