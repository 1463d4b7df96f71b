// SPDX-License-Identifier: Apache-2.0
// engine/memory/need.h: how much memory the RDMA of this host pins, as a sum that an operator can
// check by hand, and whether the host allows it. The daemon finds this out at start, not by a call
// that fails.
//
// Pure, except for this_host_memory().
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
  // Adds one line to the sum, such as "receive windows", 8 of 266240 bytes each.
  void add(std::string_view what, uint64_t count, uint64_t bytes_each);
  uint64_t total() const;
  // Returns "512.0 MiB = receive windows 8 x 266240 B + …".
  std::string text() const;

 private:
  struct Line {
    std::string what;
    uint64_t count;
    uint64_t bytes_each;
  };
  std::vector<Line> lines_;
};

// The limits of a host. UINT64_MAX means that no limit is known.
struct MemoryLimits {
  uint64_t memlock = UINT64_MAX;  // RLIMIT_MEMLOCK; no limit with CAP_IPC_LOCK
  uint64_t available = UINT64_MAX;
  uint64_t huge_page_bytes = 2 << 20;
  uint64_t huge_pages_free = 0;
  uint64_t regions = UINT64_MAX;  // memory keys of the device
};
MemoryLimits this_host_memory();

// Returns an error for the first limit that is too low: which one, how much there is and is needed,
// and how to raise it. Locked memory, free memory, huge pages and memory keys have a text each.
Result<void> check(const MemoryNeed& need, const MemoryLimits& limits, bool huge_pages);

}  // namespace hat::engine
