// SPDX-License-Identifier: Apache-2.0
// bench/floors/floor.h: the frame of a floor: a program that measures the least time and CPU in
// which this machine carries a call from a client through two relays to a server, and back.
//
// The two relays have the places of two hatrpcds, and the same short time slices, but do nothing
// except copy messages. The client threads are in the main process. Each relay is a child process,
// and the server threads are in another child process. A reply has the bytes of its request.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/arguments.h"
#include "bench/closed_loop.h"

namespace hat::bench {

struct FloorLoad {
  static constexpr uint32_t kClientsMax = 1024;
  static constexpr uint32_t kBytesMax = 1u << 20;
  static constexpr uint32_t kYieldsMax = 1'000'000;

  ClosedLoop loop;
  uint32_t bytes = 1;  // of each request and each reply
};

// A word of the command line after CLIENTS BYTES SECONDS.
struct FloorWord {
  std::string name;
  Arguments::Read read;
};

// Parses the command line into `load`, whose program's name must be set, and calls the readers of
// `words`. Returns the exit status if the program must end: after --help, or after a mistake.
std::optional<int> parse_floor(std::span<char* const> command_line,
                               const std::vector<FloorWord>& words, FloorLoad& load);

// A client of a floor. Each of its requests differs from the previous one, so that
// has_right_reply() also finds a reply to an earlier call.
class FloorClient : public LoopClient {
 public:
  explicit FloorClient(const FloorLoad& load, uint32_t number);
  void prepare() override;

 protected:
  std::span<const std::byte> request() const { return request_; }
  bool is_request(const std::byte* reply) const;

 private:
  std::vector<std::byte> request_;
  uint32_t calls_ = 0;
};

// The child processes of a floor. The kernel kills them if the main process ends. If one of them
// ends before the measurement does, the main process exits with status 1.
class Floor {
 public:
  enum class Role : uint8_t { kRelay, kServer };

  explicit Floor(FloorLoad load) : load_(std::move(load)) {}

  // Starts a child process that does `work`, which must not return. Call this before measure().
  void start(Role role, const std::function<void()>& work);
  // Starts the child process with the server threads, each of which does `work` for one client.
  void start_servers(const std::function<void(uint32_t client)>& work);
  // Runs the clients in this process, ends the child processes, and prints the JSON object of
  // run_closed_loop(), with the CPU time per call of the two relays and of the server.
  void measure(const std::function<std::unique_ptr<LoopClient>(uint32_t client)>& make_client);

 private:
  struct Child {
    Role role;
    pid_t pid;
  };
  // Kills the child processes of that role; returns the CPU time that they used, in µs.
  double end(Role role) const;

  const FloorLoad load_;
  std::vector<Child> children_;
};

// Prints "<what>: <text of errno>", and exits with status 1.
[[noreturn]] void fail_floor(const char* what);

// Returns zeroed memory that this process and its later child processes share. It is never freed.
std::byte* shared_memory(size_t bytes);

// Returns an array of `count` new objects in memory that later child processes share.
template <class T>
std::span<T> shared_array(size_t count) {
  T* const first = reinterpret_cast<T*>(shared_memory(count * sizeof(T)));
  std::uninitialized_value_construct_n(first, count);
  return {first, count};
}

}  // namespace hat::bench
