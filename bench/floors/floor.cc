// SPDX-License-Identifier: Apache-2.0
#include "bench/floors/floor.h"

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>
#include <thread>

#include "base/rounded.h"
#include "base/time_slice.h"

namespace hat::bench {
namespace {

// Handles SIGCHLD during a measurement. Without this, the clients would wait forever.
void on_early_end(int) {
  constexpr std::string_view kMessage = "a child process of the floor has ended\n";
  [[maybe_unused]] const auto written = write(STDERR_FILENO, kMessage.data(), kMessage.size());
  _exit(1);
}

Result<Action> parse(const std::vector<std::string>& arguments, const std::string& expected,
                     const std::vector<FloorWord>& more, FloorLoad& load) {
  std::vector<std::string> words;
  const size_t count = 3 + more.size();
  Arguments parser(load.loop.program);
  parser.words(expected, count, count, words);
  HAT_TRY(const Action action, parser.parse(arguments));
  if (action != Action::kRun) return action;
  HAT_TRY_VOID(read_number(load.loop.clients, 1u, FloorLoad::kClientsMax)(words[0]));
  HAT_TRY_VOID(read_number(load.bytes, 1u, FloorLoad::kBytesMax)(words[1]));
  HAT_TRY_VOID(read_number(load.loop.seconds, 0.1, 86400.0, "seconds")(words[2]));
  for (size_t i = 0; i < more.size(); ++i) HAT_TRY_VOID(more[i].read(words[3 + i]));
  return action;
}

}  // namespace

std::optional<int> parse_floor(std::span<char* const> command_line,
                               const std::vector<FloorWord>& words, FloorLoad& load) {
  std::string expected = "CLIENTS BYTES SECONDS";
  for (const FloorWord& word : words) expected += " " + word.name;
  const std::string usage = "usage: " + load.loop.program + " " + expected + "\n";
  const auto action = parse({command_line.begin() + 1, command_line.end()}, expected, words, load);
  if (!action) {
    std::fprintf(stderr, "%s: %s\n%s", load.loop.program.c_str(), action.error().message.c_str(),
                 usage.c_str());
    return 2;
  }
  if (*action != Action::kRun) return std::fputs(usage.c_str(), stdout) < 0;
  return std::nullopt;
}

FloorClient::FloorClient(const FloorLoad& load, uint32_t number)
    : request_(load.bytes, static_cast<std::byte>(number)) {}

void FloorClient::prepare() {
  ++calls_;
  std::memcpy(request_.data(), &calls_, std::min(request_.size(), sizeof(calls_)));
}

bool FloorClient::is_request(const std::byte* reply) const {
  return std::memcmp(request_.data(), reply, request_.size()) == 0;
}

void Floor::start(Role role, const std::function<void()>& work) {
  const pid_t parent = getpid();
  std::signal(SIGCHLD, on_early_end);
  const pid_t pid = fork();
  if (pid < 0) fail_floor("cannot create a process");
  if (pid == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (role == Role::kRelay && !request_short_time_slices())
      fail_floor("cannot set the time slice");
    if (getppid() == parent) work();  // the parent may have ended before the call of prctl()
    _exit(1);
  }
  children_.push_back({role, pid});
}

void Floor::start_servers(const std::function<void(uint32_t client)>& work) {
  start(Role::kServer, [&] {
    std::vector<std::thread> threads;
    for (uint32_t i = 0; i < load_.loop.clients; ++i) threads.emplace_back([&work, i] { work(i); });
    for (auto& thread : threads) thread.join();
  });
}

void Floor::measure(
    const std::function<std::unique_ptr<LoopClient>(uint32_t client)>& make_client) {
  auto result = run_closed_loop(load_.loop, make_client);
  std::signal(SIGCHLD, SIG_DFL);
  const double calls = result["calls_per_s"].get<double>() * load_.loop.seconds;
  result["sidecar_cpu_us"] = rounded(end(Role::kRelay) / calls, 2);
  result["server_cpu_us"] = rounded(end(Role::kServer) / calls, 2);
  std::puts(result.dump().c_str());
}

double Floor::end(Role role) const {
  double us = 0;
  for (const Child& child : children_) {
    if (child.role != role) continue;
    rusage used{};
    kill(child.pid, SIGKILL);
    if (wait4(child.pid, nullptr, 0, &used) != child.pid) fail_floor("cannot wait for a process");
    for (const timeval& time : {used.ru_utime, used.ru_stime}) {
      us += static_cast<double>(time.tv_sec) * 1e6 + static_cast<double>(time.tv_usec);
    }
  }
  return us;
}

void fail_floor(const char* what) {
  std::fprintf(stderr, "%s: %s\n", what, std::strerror(errno));
  _exit(1);
}

std::byte* shared_memory(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) fail_floor("cannot map shared memory");
  return static_cast<std::byte*>(memory);
}

}  // namespace hat::bench
