// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/two.h"

#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <thread>

#include "engine/fabric/loop/loop_fabric.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat::bench {
namespace {

void pin_to(unsigned core) {
  if (std::thread::hardware_concurrency() < 2) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

double seconds(const rusage& usage) { return seconds(usage.ru_utime) + seconds(usage.ru_stime); }

}  // namespace

Result<std::unique_ptr<engine::Fabric>> open_fabric(const std::string& kind, bool second) {
  if (kind == "loop") return engine::open_loop_fabric();
  HAT_TRY(std::unique_ptr<engine::VerbsFabric> fabric,
          engine::open_verbs_fabric({.device = second ? "rxe2" : "rxe1"}));
  return fabric;
}

void Wire::send(const void* bytes, size_t count) const {
  if (write(fd_.get(), bytes, count) != static_cast<ssize_t>(count)) std::exit(3);
}

void Wire::receive(void* bytes, size_t count) const {
  if (recv(fd_.get(), bytes, count, MSG_WAITALL) != static_cast<ssize_t>(count)) std::exit(3);
}

bool Wire::ended() const {
  pollfd one{.fd = fd_.get(), .events = POLLIN, .revents = 0};
  return poll(&one, 1, 0) != 0;
}

double run_two(const std::function<void(const Wire&)>& first,
               const std::function<void(const Wire&)>& second) {
  int pair[2];
  if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0) std::exit(3);
  std::optional<Wire> ends[] = {Wire(Descriptor(pair[0])), Wire(Descriptor(pair[1]))};
  const pid_t child = fork();
  if (child == 0) {
    ends[0].reset();
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    pin_to(1);
    second(*ends[1]);
    _exit(0);
  }
  ends[1].reset();
  pin_to(0);
  first(*ends[0]);
  ends[0].reset();
  rusage usage{};
  wait4(child, nullptr, 0, &usage);
  return seconds(usage);
}

double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return seconds(usage);
}

}  // namespace hat::bench
