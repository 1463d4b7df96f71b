// SPDX-License-Identifier: Apache-2.0
// bench/closed_loop.h: measures calls of several clients, each of which makes one call at a time.
//
// Each client is a thread. The first fifth of the time is the warm-up; bench/account.h describes
// which calls count after the warm-up.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

namespace hat::bench {

// One client. run_closed_loop() makes and uses it in the client's thread. Each function may throw
// a std::exception; then the process prints the exception's message and exits with status 1.
class LoopClient {
 public:
  virtual ~LoopClient() = default;
  // Prepares the next call. This time is not part of the call; it counts as a pause before it.
  virtual void prepare() = 0;
  // Makes one call, and waits for its reply.
  virtual void call() = 0;
  // Returns true if the reply of the last call equals its request.
  virtual bool has_right_reply() const = 0;
};

struct ClosedLoop {
  std::string program;  // the program's name, for messages
  uint32_t clients = 1;
  double seconds = 1;
};

// Measures calls for `loop.seconds`, and returns a JSON object with times in µs; its field cpu_us
// is this process's CPU time per call. `make_client` gets the number of the client, from 0 on. If
// no call ended, or a reply is wrong, this function prints a message and exits with status 1.
nlohmann::ordered_json run_closed_loop(
    const ClosedLoop& loop,
    const std::function<std::unique_ptr<LoopClient>(uint32_t client)>& make_client);

}  // namespace hat::bench
