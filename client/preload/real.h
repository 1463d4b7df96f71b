// SPDX-License-Identifier: Apache-2.0
// client/preload/real.h: the functions of the C library that this library replaces with functions
// of the same names.
//
// Each function is looked up at its first call. A lookup in a constructor would be too late: a
// constructor of another library can call read() before the constructors of this library run.
#pragma once

#include <dlfcn.h>
#include <poll.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <atomic>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <type_traits>

// Marks the functions that replace functions of the C library. Other symbols are not exported.
#define HAT_INTERCEPTED extern "C" __attribute__((visibility("default")))

namespace hatrpc::preload {

template <class Function>
class Real;

template <class Result, class... Words>
class Real<Result(Words...)> {
 public:
  using Function = Result (*)(Words...);
  constexpr explicit Real(const char* name) : name_(name) {}

  Result operator()(Words... words) {
    if (const Function function = find()) return function(words...);
    errno = ENOSYS;
    if constexpr (std::is_pointer_v<Result>) {
      return nullptr;
    } else {
      return -1;
    }
  }
  // Returns the C library's function, or null if it has none of this name. The first call can
  // allocate memory, so code that must not allocate needs an earlier call, for example at start-up.
  Function find() {
    Function function = found_.load(std::memory_order_relaxed);
    if (function != nullptr) return function;
    function = reinterpret_cast<Function>(dlsym(RTLD_NEXT, name_));
    found_.store(function, std::memory_order_relaxed);
    return function;
  }

 private:
  const char* const name_;
  std::atomic<Function> found_ = nullptr;
};

namespace real {

using Strings = char* const*;

inline constinit Real<int(int, const sockaddr*, socklen_t)> connect{"connect"};
inline constinit Real<ssize_t(int, void*, size_t)> read{"read"};
inline constinit Real<ssize_t(int, const iovec*, int)> readv{"readv"};
inline constinit Real<ssize_t(int, void*, size_t, int)> recv{"recv"};
inline constinit Real<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> recvfrom{"recvfrom"};
inline constinit Real<ssize_t(int, msghdr*, int)> recvmsg{"recvmsg"};
inline constinit Real<int(int, mmsghdr*, unsigned, int, timespec*)> recvmmsg{"recvmmsg"};
inline constinit Real<ssize_t(int, const void*, size_t)> write{"write"};
inline constinit Real<ssize_t(int, const iovec*, int)> writev{"writev"};
inline constinit Real<ssize_t(int, const void*, size_t, int)> send{"send"};
inline constinit Real<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> sendto{
    "sendto"};
inline constinit Real<ssize_t(int, const msghdr*, int)> sendmsg{"sendmsg"};
inline constinit Real<int(int, mmsghdr*, unsigned, int)> sendmmsg{"sendmmsg"};
inline constinit Real<ssize_t(int, int, off_t*, size_t)> sendfile{"sendfile"};
inline constinit Real<int(int, int, int)> socket{"socket"};
inline constinit Real<long(long, long, long, long, long, long, long)> syscall{"syscall"};
inline constinit Real<int(int, int)> listen{"listen"};
inline constinit Real<int(int, sockaddr*, socklen_t*, int)> accept4{"accept4"};
inline constinit Real<int(int)> close{"close"};
inline constinit Real<int(unsigned, unsigned, int)> close_range{"close_range"};
inline constinit Real<int(int, int)> shutdown{"shutdown"};
inline constinit Real<int(int)> dup{"dup"};
inline constinit Real<int(int, int)> dup2{"dup2"};
inline constinit Real<int(int, int, int)> dup3{"dup3"};
// Declares the optional third argument of fcntl and ioctl as a required one: Linux passes both in
// the same way.
inline constinit Real<int(int, int, void*)> fcntl{"fcntl"};
inline constinit Real<int(int, int, void*)> fcntl64{"fcntl64"};
inline constinit Real<int(int, unsigned long, void*)> ioctl{"ioctl"};
inline constinit Real<FILE*(int, const char*)> fdopen{"fdopen"};
inline constinit Real<int(int, sockaddr*, socklen_t*)> getpeername{"getpeername"};
inline constinit Real<int(int, sockaddr*, socklen_t*)> getsockname{"getsockname"};
inline constinit Real<int(int, int, int, void*, socklen_t*)> getsockopt{"getsockopt"};
inline constinit Real<int(int, int, int, const void*, socklen_t)> setsockopt{"setsockopt"};
inline constinit Real<int(pollfd*, nfds_t, int)> poll{"poll"};
inline constinit Real<int(pollfd*, nfds_t, const timespec*, const sigset_t*)> ppoll{"ppoll"};
inline constinit Real<int(int, fd_set*, fd_set*, fd_set*, timeval*)> select{"select"};
inline constinit Real<int(int, fd_set*, fd_set*, fd_set*, const timespec*, const sigset_t*)>
    pselect{"pselect"};
inline constinit Real<int(int, int, int, epoll_event*)> epoll_ctl{"epoll_ctl"};
inline constinit Real<int(const char*, Strings, Strings)> execve{"execve"};
inline constinit Real<int(const char*, Strings, Strings)> execvpe{"execvpe"};
inline constinit Real<int(int, Strings, Strings)> fexecve{"fexecve"};
using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  Strings, Strings);
inline constinit Real<Spawn> posix_spawn{"posix_spawn"};
inline constinit Real<Spawn> posix_spawnp{"posix_spawnp"};

}  // namespace real
}  // namespace hatrpc::preload
