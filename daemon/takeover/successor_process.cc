// SPDX-License-Identifier: Apache-2.0
#include "daemon/takeover/successor_process.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/system_error.h"

// clone(2) by glibc's other name. ThreadSanitizer intercepts clone() as if it were fork(2), and
// would mark memory as the child's; here both processes share the memory.
extern "C" int __clone(int (*run)(void*), void* stack, int flags, void* of, ...) noexcept;

namespace hat {
namespace {

// The environment variables that systemd sets for one process alone. They are useless in another
// process: they contain the id of the process for which systemd set them, and
// sd_watchdog_enabled(3) and sd_listen_fds(3) compare this id.
constexpr std::array<std::string_view, 4> kOnlyOurs = {
    "WATCHDOG_PID=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES="};

// Returns the path from which this process was started. Another file may have replaced the file at
// this path since.
Result<std::string> program() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail_errno("/proc/self/exe", error.value());
  constexpr std::string_view kReplaced = " (deleted)";
  if (path.ends_with(kReplaced)) path.resize(path.size() - kReplaced.size());
  return path;
}

std::vector<std::string> arguments() {
  std::ifstream file("/proc/self/cmdline", std::ios::binary);
  std::vector<std::string> words;
  for (std::string word; std::getline(file, word, '\0');) words.push_back(word);
  if (std::ranges::find(words, "--takeover") == words.end()) words.push_back("--takeover");
  return words;
}

// The arguments for execve(2), and the errno of execve(2) if it fails.
struct Start {
  const char* path = nullptr;
  char** arguments = nullptr;
  char** variables = nullptr;
  int error = 0;
};

// Runs in the new process until execve(2), in the memory of the old process. The old process's
// calling thread is suspended meanwhile.
int execute(void* start) {
  auto& one = *static_cast<Start*>(start);
  execve(one.path, one.arguments, one.variables);
  one.error = errno;
  _exit(127);
}

// Starts the new process as posix_spawn(3) does, and also sets CLONE_PARENT and CLONE_PIDFD. The
// two processes share memory until execve(2). fork(2) must not be used, because it would break
// RDMA: a later write of this process to registered memory would go to a copy of the page, while
// the device still uses the original page.
Result<SuccessorProcess> spawn(Start start) {
  constexpr size_t kStackBytes = 64 << 10;
  constexpr int kFlags = CLONE_VM | CLONE_VFORK | CLONE_PARENT | CLONE_PIDFD | SIGCHLD;
  alignas(16) static std::array<char, kStackBytes> stack;
  // Blocks all signals, so that no signal handler of this process runs in the new process.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int end = -1;
  const int pid = __clone(execute, stack.data() + stack.size(), kFlags, &start, &end);
  const int error = pid < 0 ? errno : start.error;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  Descriptor owned(end);
  if (error != 0) return fail_errno(std::string(start.path), error);
  return SuccessorProcess{pid, std::move(owned)};
}

}  // namespace

Result<SuccessorProcess> spawn_successor() {
  if (getpid() == 1) {
    return fail(
        ErrorCode::kSystem,
        "this hatrpcd is the first process of its container, so a new process would end with it; "
        "start another container with --takeover");
  }
  HAT_TRY(const std::string path, program());
  std::vector<std::string> words = arguments();
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  std::vector<char*> variables;
  for (char** one = environ; *one != nullptr; ++one) {
    const bool ours = std::ranges::any_of(
        kOnlyOurs, [&](std::string_view name) { return std::string_view(*one).starts_with(name); });
    if (!ours) variables.push_back(*one);
  }
  variables.push_back(nullptr);
  return spawn({.path = path.c_str(), .arguments = argv.data(), .variables = variables.data()});
}

}  // namespace hat
