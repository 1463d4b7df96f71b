// SPDX-License-Identifier: Apache-2.0
// engine/memory/need.h: what the RDMA of this host will pin, as a sum that an operator can check by
// hand, and whether the host allows it: found out at start, not by a call that fails.
//
// Pure but for this_host_memory().
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hat::engine {

inline constexpr uint32_t kRegionsNeeded = 3;  // memory keys: one for each part of an arena

class MemoryNeed {
 public:
  // "receive windows: 8 lanes x 64 slots x 4160 B" is one line of the sum.
  void add(std::string_view what, uint64_t count, uint64_t bytes_each);
  uint64_t total() const;
  // "512.0 MiB = receive windows 8 x 266240 B + …"
  std::string text() const;

 private:
  struct Line {
    std::string what;
    uint64_t count;
    uint64_t bytes_each;
  };
  std::vector<Line> lines_;
};

// What a host allows. UINT64_MAX: no bound is known.
struct MemoryLimits {
  uint64_t memlock = UINT64_MAX;  // RLIMIT_MEMLOCK; unbounded with CAP_IPC_LOCK
  uint64_t available = UINT64_MAX;
  uint64_t huge_page_bytes = 2 << 20;
  uint64_t huge_pages_free = 0;
  uint64_t regions = UINT64_MAX;  // memory keys of the device
};
MemoryLimits this_host_memory();

// The first limit that is too low, in words: which one, how much is there and wanted, and how to
// raise it. Locked memory, free memory, huge pages and keys are told apart.
Result<void> check(const MemoryNeed& need, const MemoryLimits& limits, bool huge_pages);

}  // namespace hat::engine
