// SPDX-License-Identifier: Apache-2.0
// client/ring/memory.h: the memory of one pair of rings, as this process has it mapped.
//
// It is a memfd whose size is sealed, so that nobody who has mapped it can be made to fault. Each
// ring is mapped twice in a row: any part of it is contiguous.
//
// Errors   errno values; 0 is success.
#pragma once

#include <cstddef>
#include <utility>

#include "client/ring/layout.h"

namespace hatrpc::ring {

class Memory {
 public:
  Memory() = default;  // none
  Memory(Memory&& from) noexcept
      : fd_(std::exchange(from.fd_, -1)),
        base_(std::exchange(from.base_, nullptr)),
        ring_bytes_(std::exchange(from.ring_bytes_, 0)) {}
  Memory& operator=(Memory&& from) noexcept;
  ~Memory();

  // `ring_bytes`: valid_ring_bytes().
  static int create(uint64_t ring_bytes, Memory& memory);
  // What another process made; takes the descriptor, also where it fails. EPERM: its size is not
  // sealed. EPROTO: it is no version 1 memory.
  static int map(int fd, Memory& memory);

  explicit operator bool() const { return base_ != nullptr; }
  int fd() const { return fd_; }
  // The descriptor is the caller's from now on; what is mapped stays.
  int release_fd() { return std::exchange(fd_, -1); }
  uint64_t ring_bytes() const { return ring_bytes_; }
  Control& control() const { return *reinterpret_cast<Control*>(base_); }
  // 2 * ring_bytes() long, the second half being the first again.
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
