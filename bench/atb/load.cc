// SPDX-License-Identifier: Apache-2.0
#include "bench/atb/load.h"
#include "base/descriptor.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <vector>

namespace hat::atb {
namespace {

std::string system_error(const std::string& what) { return what + ": " + std::strerror(errno); }

bool make_pipe(Descriptor& reads, Descriptor& writes) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return false;
  reads = Descriptor(ends[0]);
  writes = Descriptor(ends[1]);
  return true;
}

// A child process and two pipes. The child writes a byte to the first pipe when it is ready, and
// reads the time at which it must begin from the second pipe.
class Child {
 public:
  Child(const Child&) = delete;
  Child(Child&& other) noexcept { swap(other); }
  ~Child() {
    if (pid_ > 0) {
      kill(pid_, SIGKILL);
      waitpid(pid_, nullptr, 0);
    }
    if (slot_ != nullptr) munmap(slot_, sizeof(Slot));
  }

  static Outcome<Child> fork(const Load& load, uint32_t first_client);

  // Waits until each client of the child has one answer. Returns false if the child has ended.
  bool wait_ready() {
    char byte;
    return read(ready_.get(), &byte, 1) == 1;
  }
  void begin(Clock::time_point when) {
    // Ignore a failed write: it fails only if the child has ended, and run_load() reports that.
    [[maybe_unused]] const auto written = write(begin_.get(), &when, sizeof(when));
  }
  // Waits until the child has ended.
  Outcome<Measured> wait();
  bool is(pid_t pid) const { return pid_ == pid; }
  // Returns the child's results or failure. `status` must be the child's status from waitpid().
  Outcome<Measured> ended(int status);

 private:
  Child() = default;
  void swap(Child& other) {
    std::swap(pid_, other.pid_);
    std::swap(ready_, other.ready_);
    std::swap(begin_, other.begin_);
    std::swap(slot_, other.slot_);
  }
  [[noreturn]] static void be_child(const Load& load, uint32_t first_client, int ready, int begin,
                                    Slot& slot);

  pid_t pid_ = -1;
  Descriptor ready_;
  Descriptor begin_;
  Slot* slot_ = nullptr;
};

Outcome<Child> Child::fork(const Load& load, uint32_t first_client) {
  Child child;
  void* memory =
      mmap(nullptr, sizeof(Slot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return std::unexpected(Failure{.message = system_error("mmap")});
  child.slot_ = new (memory) Slot;
  Descriptor ready;  // `ready` and `begin` are the ends of the two pipes that the child uses
  Descriptor begin;
  const bool piped = make_pipe(child.ready_, ready) && make_pipe(begin, child.begin_);
  child.pid_ = piped ? ::fork() : -1;
  if (child.pid_ == 0) {
    child.ready_ = Descriptor();
    child.begin_ = Descriptor();
    be_child(load, first_client, ready.get(), begin.get(), *child.slot_);
  }
  if (child.pid_ < 0) {
    return std::unexpected(Failure{.message = system_error("cannot create a client process")});
  }
  return child;
}

void Child::be_child(const Load& load, uint32_t first_client, int ready, int begin, Slot& slot) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const auto wait_for_begin = [&] {
    Clock::time_point when;
    if (write(ready, "r", 1) != 1 || read(begin, &when, sizeof(when)) != sizeof(when)) {
      std::_Exit(static_cast<int>(Exit::kCannotMeasure));  // the parent has ended
    }
    return when;
  };
  run_clients(load, first_client, wait_for_begin, slot);
  std::_Exit(static_cast<int>(Exit::kDone));
}

Outcome<Measured> Child::wait() {
  int status = 0;
  waitpid(pid_, &status, 0);
  return ended(status);
}

Outcome<Measured> Child::ended(int status) {
  pid_ = -1;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return slot_->measured;
  if (WIFEXITED(status)) {
    return std::unexpected(Failure{static_cast<Exit>(WEXITSTATUS(status)), slot_->failure});
  }
  return std::unexpected(Failure{.message = "a client process was killed by signal " +
                                            std::to_string(WTERMSIG(status))});
}

}  // namespace

Outcome<LoadResult> run_load(const Load& load) {
  signal(SIGPIPE, SIG_IGN);
  std::vector<Child> children;
  for (uint32_t i = 0; i < load.options.processes; ++i) {
    auto child = Child::fork(load, i * load.options.threads);
    if (!child) return std::unexpected(child.error());
    children.push_back(std::move(*child));
  }
  for (auto& child : children) {
    if (child.wait_ready()) continue;
    return std::unexpected(child.wait().error());
  }
  const auto warm_up_begins = Clock::now();
  for (auto& child : children) child.begin(warm_up_begins);

  LoadResult result;
  for (size_t running = children.size(); running != 0; --running) {
    int status = 0;
    const pid_t pid = waitpid(-1, &status, 0);
    const auto child = std::ranges::find_if(children, [&](auto& each) { return each.is(pid); });
    const auto measured = child->ended(status);
    if (!measured) return std::unexpected(measured.error());
    result.measured.add(*measured);
  }
  const std::chrono::duration<double> took = result.measured.until - warm_up_begins;
  result.seconds = took.count() - load.options.warm_up;
  if (result.measured.account.ended == 0) {
    return std::unexpected(Failure{.message = "no call ended during the measurement; "
                                              "try a longer --seconds"});
  }
  return result;
}

}  // namespace hat::atb
