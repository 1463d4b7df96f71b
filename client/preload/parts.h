// SPDX-License-Identifier: Apache-2.0
// client/preload/parts.h: a list of buffers, as readv(2) and writev(2) use it.
#pragma once

#include <sys/uio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>

namespace hatrpc::preload {

class Parts {
 public:
  Parts(const iovec* parts, size_t count) : parts_(parts, count) {
    for (const iovec& part : parts_) bytes_ += part.iov_len;
  }

  size_t bytes() const { return bytes_; }
  // Copies `from` into the buffers, after their first `skipped` bytes, which stay unchanged.
  // Returns the number of bytes copied.
  size_t fill(size_t skipped, std::span<const std::byte> from) const {
    size_t done = 0;
    each(skipped, from.size(), [&](char* at, size_t bytes) {
      std::memcpy(at, from.data() + done, bytes);
      done += bytes;
    });
    return done;
  }
  // Copies from the buffers, after their first `skipped` bytes, to `into`. Returns the number of
  // bytes copied.
  size_t empty(size_t skipped, std::span<std::byte> into) const {
    size_t done = 0;
    each(skipped, into.size(), [&](const char* at, size_t bytes) {
      std::memcpy(into.data() + done, at, bytes);
      done += bytes;
    });
    return done;
  }

 private:
  template <class Visit>
  void each(size_t skipped, size_t most, Visit visit) const {
    for (const iovec& part : parts_) {
      const size_t skip = std::min(skipped, part.iov_len);
      const size_t bytes = std::min(part.iov_len - skip, most);
      skipped -= skip;
      most -= bytes;
      if (bytes != 0) visit(static_cast<char*>(part.iov_base) + skip, bytes);
    }
  }

  std::span<const iovec> parts_;
  size_t bytes_ = 0;
};

}  // namespace hatrpc::preload
