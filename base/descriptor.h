// SPDX-License-Identifier: Apache-2.0
// base/descriptor.h: an owner of a file descriptor; its destructor closes the descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <span>
#include <utility>
#include <vector>

namespace hat {

class Descriptor {
 public:
  explicit Descriptor(int fd = -1) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(other.release()) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  int get() const { return fd_; }
  int release() { return std::exchange(fd_, -1); }

 private:
  int fd_;
};

// Returns a duplicate of each descriptor. Returns an empty vector if any of the descriptors cannot
// be duplicated (EMFILE).
inline std::vector<Descriptor> duplicates_of(std::span<const int> descriptors) {
  std::vector<Descriptor> duplicates;
  for (const int one : descriptors) {
    duplicates.emplace_back(fcntl(one, F_DUPFD_CLOEXEC, 0));
    if (duplicates.back().get() < 0) return {};
  }
  return duplicates;
}

}  // namespace hat
