// SPDX-License-Identifier: Apache-2.0
// bench/dds/team.h: owners and clients of distributed structures, a process each, that go through
// the steps of a measurement together.
//
//   each owner     prepare ─┐ answers calls                    ┌─ check
//   each client             └─ work (timed) ───────────────────┘
//
// Pinned to cores of their own where there are enough of them. What they find lies in memory that
// all share, the board; the process that called run_team() reads it afterwards.
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
  std::string fabric = "loop";  // or "verbs": owners at the lab's rxe2, clients at rxe1
  uint32_t owners = 1;
  uint32_t clients = 1;
  size_t memory_bytes = 1 << 20;  // of each owner
  uint32_t message_bytes_max = 4096;
  bool pins = true;
  std::chrono::seconds timeout{300};
};

// What one client, or an owner, found in one step.
struct Finding {
  double us = 0;       // of one operation: the median of batches (of single ones, where so timed)
  double mean_us = 0;  // all together: with whatever else the machine did meanwhile
  uint64_t operations = 0;
  engine::OperationCounts counts;
};

// All zeroes at first.
struct Board {
  alignas(64) std::atomic<uint32_t> arrived;
  alignas(64) std::atomic<uint32_t> generation;
  std::atomic<uint32_t> failed;
  std::array<char, 256> why;  // of the first that failed
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

  // Times `once(i)` for all i below `operations`, until one fails; counts what it took.
  bool time(uint64_t operations, const std::function<bool(uint64_t)>& once) const;
  // Before the time is taken: this process's first look at each page of an owner's memory costs
  // more than the later ones. False: the fabric failed.
  bool touch(uint64_t offset, uint64_t bytes) const;
};

// Each runs in the process of its side, which was forked with what the step holds.
struct Step {
  std::string name;
  std::function<void(OwnerSide&)> prepare;  // none: nothing
  std::function<void(OwnerSide&)> turn;     // again and again meanwhile; none: `handler`'s
  std::function<Result<void>(ClientSide&)> work;
  std::function<Result<void>(OwnerSide&)> check;
};

// `handler_of` makes each owner's handler of calls. Errors: the first that a step told, by its
// name; a process that died, or did not end in time.
Result<void> run_team(const TeamOptions& options, std::span<const Step> steps,
                      const std::function<engine::CallHandler(uint32_t owner)>& handler_of,
                      Board& board);

// Memory that all processes of a team share; zeroes.
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
