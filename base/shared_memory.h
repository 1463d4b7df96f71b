// SPDX-License-Identifier: Apache-2.0
// base/shared_memory.h: memory that other processes can map: a sealed memfd and its mapping in this
// process.
//
// The seals F_SEAL_GROW and F_SEAL_SHRINK keep the size as it is, so that no process can shrink the
// memory and thereby make another process crash (SIGBUS). map() rejects memory without these seals.
#pragma once

#include <cstddef>
#include <span>

#include "base/descriptor.h"
#include "base/result.h"

namespace hat {

class SharedMemory {
 public:
  // Creates zeroed memory; the size is rounded up to whole pages. `name` appears in /proc/PID/maps.
  static Result<SharedMemory> create(const char* name, size_t bytes);
  // Maps memory that another process created.
  static Result<SharedMemory> map(Descriptor memfd);

  SharedMemory(SharedMemory&& other) noexcept;
  SharedMemory& operator=(SharedMemory&&) = delete;
  ~SharedMemory();

  int fd() const { return memfd_.get(); }
  std::span<std::byte> bytes() const { return bytes_; }
  void close_descriptor() { memfd_ = Descriptor(); }  // the memory stays mapped

 private:
  explicit SharedMemory(Descriptor memfd) : memfd_(std::move(memfd)) {}
  Result<void> map_all();

  Descriptor memfd_;
  std::span<std::byte> bytes_;
};

}  // namespace hat
