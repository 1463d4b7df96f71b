// SPDX-License-Identifier: Apache-2.0
// bench/dds/team.h: runs the owners and clients of a distributed queue or hash table, each in its
// own process (together: a team), through the steps of a measurement. All processes begin and end
// each step together:
//
//   each owner     prepare ─┐ answers calls                    ┌─ check
//   each client             └─ work (timed) ───────────────────┘
//
// Each process is pinned to its own core if the host has enough cores. The processes write their
// results to shared memory (struct Board), which the caller of run_team() reads afterwards.
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
  std::string fabric = "loop";  // or "verbs": owners use the lab's device rxe2, clients rxe1
  uint32_t owners = 1;
  uint32_t clients = 1;
  size_t memory_bytes = 1 << 20;  // per owner
  uint32_t message_bytes_max = 4096;
  bool pins = true;
  std::chrono::seconds timeout{300};
};

// The results of one client or owner in one step.
struct Finding {
  // Time of one operation in µs: the median over batches of operations, or over single operations.
  double us = 0;
  double mean_us = 0;  // mean time of one operation in µs, also of those that were interrupted
  uint64_t operations = 0;
  engine::OperationCounts counts;
};

// The shared memory of a team. All bytes are 0 at first.
struct Board {
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation;
  std::atomic<uint32_t> failed;
  std::array<char, 256> why;  // the error of the first process that failed
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

  // Calls `once(i)` for each i below `operations`, until a call returns false, and stores the times
  // in `finding`. Returns false if a call has returned false.
  bool time(uint64_t operations, const std::function<bool(uint64_t)>& once) const;
  // Reads `bytes` bytes of each owner's memory, from `offset` on. Call this before a measurement,
  // because a process's first access to a page takes longer. Returns false if the fabric failed.
  bool touch(uint64_t offset, uint64_t bytes) const;
};

// The functions of one step. Each runs in the process of an owner or a client.
struct Step {
  std::string name;
  std::function<void(OwnerSide&)> prepare;  // can be empty
  std::function<void(OwnerSide&)> turn;     // repeated while clients work; empty: answers calls
  std::function<Result<void>(ClientSide&)> work;
  std::function<Result<void>(OwnerSide&)> check;
};

// Forks the processes and runs the steps. `handler_of` returns an owner's handler of calls. Returns
// an error if a step fails (the first failure, with the step's name), a process dies, or
// options.timeout has passed.
Result<void> run_team(const TeamOptions& options, std::span<const Step> steps,
                      const std::function<engine::CallHandler(uint32_t owner)>& handler_of,
                      Board& board);

// An array in memory that all processes of a team share. All bytes are 0 at first.
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
