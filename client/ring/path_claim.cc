// SPDX-License-Identifier: Apache-2.0
#include "client/ring/path_claim.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <string>
#include <thread>

namespace hatrpc::ring {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr auto kLockWait = 1s;
constexpr auto kLockPause = 5ms;

std::string folder_of(const std::string& path) {
  const size_t slash = path.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : path.substr(0, slash);
}

// Locks the folder, and returns its descriptor, or -1 on failure. The wait is bounded, because any
// process that can read the folder can hold the lock for ever.
int lock(const std::string& folder) {
  const int fd = open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return -1;
  const auto until = Clock::now() + kLockWait;
  while (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    if (Clock::now() >= until) {
      close(fd);
      return -1;
    }
    std::this_thread::sleep_for(kLockPause);
  }
  return fd;
}

// Returns true if `path` is a socket that refuses connections. The type of the file is checked
// first, because connect(2) is also refused if the file is not a socket.
bool is_stale(const char* path, int type) {
  struct stat info {};
  if (lstat(path, &info) != 0 || !S_ISSOCK(info.st_mode)) return false;
  sockaddr_un address{.sun_family = AF_UNIX};
  if (std::strlen(path) >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, path);
  // The probe is non-blocking, because connect(2) could wait if the server's queue is full.
  const int probe = socket(AF_UNIX, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (probe < 0) return false;
  const bool refused =
      connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0 &&
      errno == ECONNREFUSED;
  close(probe);
  return refused;
}

}  // namespace

PathClaim::PathClaim(const char* path, int type) : folder_(*path ? lock(folder_of(path)) : -1) {
  if (folder_ >= 0 && is_stale(path, type)) unlink(path);
}

PathClaim::~PathClaim() {
  if (folder_ >= 0) close(folder_);  // closing the last descriptor releases the lock
}

}  // namespace hatrpc::ring
