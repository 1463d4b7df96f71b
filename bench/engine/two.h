// SPDX-License-Identifier: Apache-2.0
// bench/engine/two.h: two processes on cores of their own, with a fabric on each side.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <string>

#include "engine/fabric/fabric.h"

namespace hat::bench {

// "loop", or "verbs": the lab's devices, rxe1 for the first process and rxe2 for the second.
Result<std::unique_ptr<engine::Fabric>> open_fabric(const std::string& kind, bool second);

// What was made, or the end of the program, in words.
template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "engine_bench: %s\n", result.error().message.c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return std::move(*result);
}

// A byte stream between the two, for what must be told beforehand.
class Wire {
 public:
  explicit Wire(int fd) : fd_(fd) {}
  void send(const void* bytes, size_t count) const;
  void receive(void* bytes, size_t count) const;
  template <class T>
  T exchange(const T& mine) const {
    T theirs;
    send(&mine, sizeof mine);
    receive(&theirs, sizeof theirs);
    return theirs;
  }
  bool ended() const;  // the other process has gone

 private:
  int fd_;
};

// Runs `second` in a process of its own, which ends with the first; both pinned where there are
// cores enough. Returns what the second used of the CPU, in seconds.
double run_two(const std::function<void(Wire)>& first, const std::function<void(Wire)>& second);

double cpu_seconds();  // of this process, so far

}  // namespace hat::bench
