#include "daemon/successor_process.h"

#include <spawn.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/owned.h"

namespace hat {
namespace {

// sd_watchdog_enabled(3) and sd_listen_fds(3) heed these only in the process that they name.
constexpr std::array<std::string_view, 4> kOnlyOurs = {
    "WATCHDOG_PID=", "LISTEN_PID=", "LISTEN_FDS=", "LISTEN_FDNAMES="};

// The path that was executed, where another file may lie by now.
Result<std::string> program() {
  std::error_code error;
  std::string path = std::filesystem::read_symlink("/proc/self/exe", error);
  if (error) return fail("/proc/self/exe: " + error.message());
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

}  // namespace

Result<int> spawn_successor() {
  if (getpid() == 1) {
    return fail(
        "this is the first process of its container, and all in it end with it: start another "
        "container with --takeover");
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

  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  const Owned<posix_spawnattr_t, posix_spawnattr_destroy> owned(&attributes);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, path.c_str(), nullptr, &attributes, argv.data(), variables.data());
  if (error != 0) return fail(path + ": " + std::strerror(error));
  return pid;
}

}  // namespace hat
