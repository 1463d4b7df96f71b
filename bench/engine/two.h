// SPDX-License-Identifier: Apache-2.0
// bench/engine/two.h: runs a measurement between two processes on separate cores.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "engine/fabric/fabric.h"

namespace hat::bench {

// Opens a process's fabric. `kind` is "loop" or "verbs". Verbs uses the lab's devices: rxe1 for the
// first process and, if `second` is true, rxe2 for the second process.
Result<std::unique_ptr<engine::Fabric>> open_fabric(const std::string& kind, bool second);

// Returns the value of `result`, or prints its error and exits.
template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "engine_bench: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// A byte stream between the two processes, over which they exchange addresses before the
// measurement.
class Wire {
 public:
  explicit Wire(Descriptor fd) : fd_(std::move(fd)) {}
  void send(const void* bytes, size_t count) const;
  void receive(void* bytes, size_t count) const;
  template <class T>
  T exchange(const T& mine) const {
    T theirs;
    send(&mine, sizeof mine);
    receive(&theirs, sizeof theirs);
    return theirs;
  }
  bool ended() const;  // true if the other process has ended

 private:
  Descriptor fd_;
};

// Runs `first` in this process and `second` in a child process, which is killed if this process
// ends. Pins each process to a core if the host has at least two cores. Returns the CPU time of the
// child in seconds.
double run_two(const std::function<void(const Wire&)>& first,
               const std::function<void(const Wire&)>& second);

double cpu_seconds();  // CPU time of this process so far

}  // namespace hat::bench
