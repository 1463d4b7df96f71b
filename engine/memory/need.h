// SPDX-License-Identifier: Apache-2.0
// engine/memory/need.h: computes how much memory the daemon pins for RDMA, as a sum that an
// operator can check by hand, and checks whether the host allows that much. The daemon checks this
// when it starts, so that a limit that is too low does not first show as a failed call.
//
// All functions except this_host_memory() are pure: they do no I/O.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hat::engine {

// The memory keys that a link with lanes needs from the RDMA device, as long as its arena has not
// grown: one for each share (Arena::kShares).
inline constexpr uint32_t kRegionsNeeded = 5;

class MemoryNeed {
 public:
  // Adds `count` times `bytes_each` to the sum. `what` names the memory, such as "receive windows".
  void add(std::string_view what, uint64_t count, uint64_t bytes_each);
  uint64_t total() const;
  // Returns the sum as text, such as "2.03 MiB = receive windows 8 x 266240 B + …".
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
  uint64_t memlock = UINT64_MAX;    // bytes, RLIMIT_MEMLOCK; no limit with CAP_IPC_LOCK
  uint64_t pinned = 0;              // bytes that this process has pinned, which count against it
  uint64_t available = UINT64_MAX;  // bytes of memory that are free, or that the kernel can free
  uint64_t regions = UINT64_MAX;    // memory keys of the RDMA device
};
// Reads the limits of this host.
MemoryLimits this_host_memory();

// Returns an error if a limit is lower than `need`. The error describes the first such limit: its
// name, its value, the value that is needed, and how to raise the limit. The limits are checked for
// locked memory, free memory, and memory keys.
Result<void> check(const MemoryNeed& need, const MemoryLimits& limits);

}  // namespace hat::engine
