// SPDX-License-Identifier: Apache-2.0
// client/ring/memory.h: the memory of one pair of rings, as this process has mapped it.
//
// The memory is a memfd with a sealed size, so that no process can make another one fault by
// shrinking it. Each ring is mapped twice in a row, so any part of it is contiguous.
//
// Errors   errno values; 0 is success.
#pragma once

#include <cstddef>
#include <utility>

#include "client/ring/layout.h"

namespace hatrpc::ring {

class Memory {
 public:
  Memory() = default;  // no memory
  Memory(Memory&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)),
        base_(std::exchange(from.base_, nullptr)),
        ring_bytes_(std::exchange(from.ring_bytes_, 0)) {}
  Memory& operator=(Memory&& from) noexcept;
  ~Memory();

  // Creates memory for two rings; `ring_bytes` must satisfy valid_ring_bytes().
  static int create(uint64_t ring_bytes, Memory& memory);
  // Maps memory that another process created. Takes ownership of `fd`, also if it fails. EPERM: the
  // size is not sealed. EPROTO: the size is not that of a version 1 memory.
  static int map(int fd, Memory& memory);

  explicit operator bool() const { return base_ != nullptr; }
  int fd() const { return fd_; }
  // Hands the descriptor to the caller; the mapping stays.
  int release_fd() { return std::exchange(fd_, -1); }
  uint64_t ring_bytes() const { return ring_bytes_; }
  Control& control() const { return *reinterpret_cast<Control*>(base_); }
  // Returns 2 * ring_bytes() bytes, of which the second half mirrors the first.
  std::byte* ring(Side writer) const {
    return base_ + kControlBytes + (writer == Side::kConnector ? 0 : 2 * ring_bytes_);
  }

 private:
  int map_all();

  int fd_ = -1;
  std::byte* base_ = nullptr;
  uint64_t ring_bytes_ = 0;
};

}  // namespace hatrpc::ring
