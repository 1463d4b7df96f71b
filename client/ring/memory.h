// SPDX-License-Identifier: Apache-2.0
// client/ring/memory.h: creates and maps the shared memory of a pair of rings.
//
// The memory is a memfd with a sealed size: no process can shrink the memory and thereby make
// another process crash (SIGBUS). Each ring is mapped twice, the second time directly after the
// first, so that every part of a ring is contiguous.
//
// Errors   errno values; 0 is success.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <utility>

#include "client/ring/layout.h"

namespace hatrpc::ring {

class Memory {
 public:
  Memory() = default;  // an object without memory
  Memory(Memory&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)),
        base_(std::exchange(from.base_, nullptr)),
        ring_bytes_(std::exchange(from.ring_bytes_, 0)) {}
  Memory& operator=(Memory&& from) noexcept;
  ~Memory();

  // Creates memory for two rings; `ring_bytes` must satisfy valid_ring_bytes(). If `place` is not
  // empty, calls it with all mapped memory before it uses this memory.
  static int create(uint64_t ring_bytes, Memory& memory,
                    const std::function<void(std::span<std::byte>)>& place = {});
  // Maps memory that another process created. Takes ownership of `fd`, even on failure. Returns
  // EPERM if the size is not sealed, and EPROTO if the size is not valid, or if this code does not
  // know the version in the memory.
  static int map(int fd, Memory& memory);

  explicit operator bool() const { return base_ != nullptr; }
  int fd() const { return fd_; }
  // Returns the descriptor, which then belongs to the caller. The memory stays mapped.
  int release_fd() { return std::exchange(fd_, -1); }
  uint64_t ring_bytes() const { return ring_bytes_; }
  Control& control() const { return *reinterpret_cast<Control*>(base_); }
  // Returns the address of the ring that `writer` writes. 2 * ring_bytes() bytes are mapped there;
  // the second half shows the same memory as the first half.
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
