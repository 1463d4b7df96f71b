// SPDX-License-Identifier: Apache-2.0
// bench/engine/two.h: runs two processes on separate cores, each with a fabric.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "base/descriptor.h"
#include "engine/fabric/fabric.h"

namespace hat::bench {

// Opens a fabric. `kind` is "loop", or "verbs" for the lab's devices: rxe1 for the first process,
// rxe2 for the second.
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

// A byte stream between the two processes, to exchange the data that they need before they start.
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

// Runs `first` in this process and `second` in a child process, which ends with this one. Pins each
// to a core if the host has at least two. Returns the CPU time of the child in seconds.
double run_two(const std::function<void(const Wire&)>& first,
               const std::function<void(const Wire&)>& second);

double cpu_seconds();  // CPU time of this process so far

}  // namespace hat::bench
