// SPDX-License-Identifier: Apache-2.0
// client/preload/exec_calls.cc: the exec and posix_spawn functions, which pass open connections to
// the new program in the environment variable HATRPC_RINGS_OPEN (inheritance.h), and listening
// sockets as TCP sockets.
//
// Each function calls a function of the C library that has an environment as its parameter. A
// function without this parameter, such as execv(), cannot be used: the C library's execv() calls
// execve() internally, and a preloaded library cannot intercept such a call.
#include <alloca.h>
#include <spawn.h>
#include <unistd.h>

#include <cerrno>
#include <cstdarg>
#include <cstring>

#include "client/preload/descriptors.h"
#include "client/preload/inheritance.h"
#include "client/preload/listener.h"
#include "client/preload/real.h"

namespace hatrpc::preload {
namespace {

using real::Strings;

// Calls `run` with a copy of `environment` to which HATRPC_RINGS_OPEN is added. The copy is on the
// stack, because the child of a vfork must not allocate memory.
template <class Run>
int with_rings(Strings environment, Run run) {
  constexpr size_t kStringsMax = 8192;  // 64 KiB of stack
  Inheritance rings;
  if (!rings.any()) return run(environment);
  size_t count = 0;
  while (environment != nullptr && environment[count] != nullptr) ++count;
  if (count > kStringsMax) return run(environment);
  auto** all = static_cast<char**>(alloca((count + 2) * sizeof(char*)));
  if (count != 0) std::memcpy(all, environment, count * sizeof(char*));
  all[count] = rings.variable();
  all[count + 1] = nullptr;
  return run(all);
}

// While it exists, the listening sockets that the new program inherits are their TCP sockets. The
// destructor runs only if the exec has failed.
class TcpListeners {
 public:
  TcpListeners() {
    descriptors::for_each_listener([](int fd, Listener& listener) { listener.show_tcp(fd); });
  }
  ~TcpListeners() {
    const int error = errno;
    descriptors::for_each_listener([](int fd, Listener& listener) { listener.show_both(fd); });
    errno = error;
  }
  TcpListeners(const TcpListeners&) = delete;
  TcpListeners& operator=(const TcpListeners&) = delete;
};

// Returns the number of arguments of an execl(), without the null pointer at the end.
size_t count_words(va_list& rest) {
  va_list counted;
  va_copy(counted, rest);
  size_t count = 1;
  while (va_arg(counted, char*) != nullptr) ++count;
  va_end(counted);
  return count;
}

// Copies the `count` arguments and the null pointer at the end into `all`. Afterwards `rest` is at
// the argument that follows the null pointer.
void take_words(char** all, size_t count, const char* first, va_list& rest) {
  all[0] = const_cast<char*>(first);
  for (size_t i = 1; i <= count; ++i) all[i] = va_arg(rest, char*);
}

}  // namespace
}  // namespace hatrpc::preload

using namespace hatrpc::preload;

HAT_INTERCEPTED int execve(const char* path, Strings words, Strings environment) noexcept {
  const TcpListeners listeners;
  return with_rings(environment, [&](Strings all) { return real::execve(path, words, all); });
}

HAT_INTERCEPTED int execvpe(const char* file, Strings words, Strings environment) noexcept {
  const TcpListeners listeners;
  return with_rings(environment, [&](Strings all) { return real::execvpe(file, words, all); });
}

HAT_INTERCEPTED int fexecve(int fd, Strings words, Strings environment) noexcept {
  const TcpListeners listeners;
  return with_rings(environment, [&](Strings all) { return real::fexecve(fd, words, all); });
}

HAT_INTERCEPTED int execv(const char* path, Strings words) noexcept {
  return execve(path, words, environ);
}

HAT_INTERCEPTED int execvp(const char* file, Strings words) noexcept {
  return execvpe(file, words, environ);
}

HAT_INTERCEPTED int execl(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const size_t count = count_words(rest);
  char** words = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  take_words(words, count, first, rest);
  va_end(rest);
  return execve(path, words, environ);
}

HAT_INTERCEPTED int execlp(const char* file, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const size_t count = count_words(rest);
  char** words = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  take_words(words, count, first, rest);
  va_end(rest);
  return execvpe(file, words, environ);
}

HAT_INTERCEPTED int execle(const char* path, const char* first, ...) noexcept {
  va_list rest;
  va_start(rest, first);
  const size_t count = count_words(rest);
  char** words = static_cast<char**>(alloca((count + 1) * sizeof(char*)));
  take_words(words, count, first, rest);
  char** environment = va_arg(rest, char**);
  va_end(rest);
  return execve(path, words, environment);
}

HAT_INTERCEPTED int posix_spawn(pid_t* pid, const char* path,
                                const posix_spawn_file_actions_t* actions,
                                const posix_spawnattr_t* attributes, Strings words,
                                Strings environment) {
  return with_rings(environment, [&](Strings all) {
    return real::posix_spawn(pid, path, actions, attributes, words, all);
  });
}

HAT_INTERCEPTED int posix_spawnp(pid_t* pid, const char* file,
                                 const posix_spawn_file_actions_t* actions,
                                 const posix_spawnattr_t* attributes, Strings words,
                                 Strings environment) {
  return with_rings(environment, [&](Strings all) {
    return real::posix_spawnp(pid, file, actions, attributes, words, all);
  });
}
