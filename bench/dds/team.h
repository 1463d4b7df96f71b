// SPDX-License-Identifier: Apache-2.0
// bench/dds/team.h: runs owners and clients of distributed structures, each in a process, through
// the steps of a measurement together.
//
//   each owner     prepare ─┐ answers calls                    ┌─ check
//   each client             └─ work (timed) ───────────────────┘
//
// Each process is pinned to its own core if the host has enough cores. The processes write their
// results to shared memory, the board, which the caller of run_team() reads afterwards.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "base/shared_memory.h"
#include "engine/costs/initiator.h"
#include "engine/costs/target.h"

namespace hat::bench {

inline constexpr uint32_t kOwnersMax = 8;
inline constexpr uint32_t kClientsMax = 32;
inline constexpr uint32_t kStepsMax = 64;

struct TeamOptions {
  std::string fabric = "loop";  // or "verbs": owners on the lab's rxe2, clients on rxe1
  uint32_t owners = 1;
  uint32_t clients = 1;
  size_t memory_bytes = 1 << 20;  // per owner
  uint32_t message_bytes_max = 4096;
  bool pins = true;
  std::chrono::seconds timeout{300};
};

// The results of one client, or one owner, in one step.
struct Finding {
  // Time of one operation: the median of batches, or of single operations if the step times those.
  double us = 0;
  double mean_us = 0;  // mean time of one operation; includes interruptions by other work
  uint64_t operations = 0;
  engine::OperationCounts counts;
};

// Initially all zeroes.
struct Board {
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation;
  std::atomic<uint32_t> failed;
  std::array<char, 256> why;  // error of the first member that failed
  engine::CostCard owner_cards[kOwnersMax][kClientsMax];
  engine::CostCard client_cards[kClientsMax][kOwnersMax];
  Finding clients[kStepsMax][kClientsMax];
  Finding owners[kStepsMax][kOwnersMax];
};

struct OwnerSide {
  uint32_t index;
  engine::Target& target;
  Finding& finding;
};

struct ClientSide {
  uint32_t index;
  const std::vector<engine::Initiator*>& owners;
  Finding& finding;

  // Calls `once(i)` for each i below `operations`, until one returns false, and stores the results
  // in `finding`. Returns false if a call returned false.
  bool time(uint64_t operations, const std::function<bool(uint64_t)>& once) const;
  // Reads the memory of all owners before the measurement, since a process's first access to each
  // page costs more than later ones. Returns false if the fabric failed.
  bool touch(uint64_t offset, uint64_t bytes) const;
};

// Each function runs in the process of its side, which has a copy of the step from the fork.
struct Step {
  std::string name;
  std::function<void(OwnerSide&)> prepare;  // may be empty
  std::function<void(OwnerSide&)> turn;     // repeated while clients work; empty: polls `handler`
  std::function<Result<void>(ClientSide&)> work;
  std::function<Result<void>(OwnerSide&)> check;
};

// Forks the processes and runs the steps. `handler_of` returns each owner's handler of calls.
// Errors: the first failure of a step, with the step's name; a process that died; the timeout.
Result<void> run_team(const TeamOptions& options, std::span<const Step> steps,
                      const std::function<engine::CallHandler(uint32_t owner)>& handler_of,
                      Board& board);

// Memory that all processes of a team share, initially zero.
template <class T>
class Shared {
 public:
  static Result<Shared> create(size_t count = 1) {
    HAT_TRY(SharedMemory memory, SharedMemory::create("hatrpc-team", count * sizeof(T)));
    return Shared(std::move(memory), count);
  }
  std::span<T> all() const { return {reinterpret_cast<T*>(memory_.bytes().data()), count_}; }
  T& operator*() const { return all().front(); }

 private:
  Shared(SharedMemory memory, size_t count) : memory_(std::move(memory)), count_(count) {}
  SharedMemory memory_;
  size_t count_;
};

}  // namespace hat::bench
