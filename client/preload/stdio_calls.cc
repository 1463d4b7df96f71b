// SPDX-License-Identifier: Apache-2.0
// client/preload/stdio_calls.cc: fdopen. If the descriptor is a ring, the returned FILE calls this
// library's read() and write(); a FILE of the C library would call functions that a preloaded
// library cannot intercept.
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>

#include "client/preload/descriptors.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

int fd_of(void* cookie) { return static_cast<int>(reinterpret_cast<intptr_t>(cookie)); }

constexpr cookie_io_functions_t kByOurCalls = {
    .read = [](void* cookie, char* into,
               size_t bytes) { return ::read(fd_of(cookie), into, bytes); },
    .write =
        [](void* cookie, const char* from, size_t bytes) {
          const ssize_t count = ::write(fd_of(cookie), from, bytes);
          return count < 0 ? ssize_t{0} : count;  // 0 reports an error: fopencookie(3)
        },
    .seek = nullptr,
    .close = [](void* cookie) { return ::close(fd_of(cookie)); },
};

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED FILE* fdopen(int fd, const char* mode) noexcept {
  if (!descriptors::is_ring(fd)) return real::fdopen(fd, mode);
  FILE* file = fopencookie(reinterpret_cast<void*>(intptr_t{fd}), mode, kByOurCalls);
  if (file != nullptr) file->_fileno = fd;  // fileno(3) returns this member
  return file;
}
