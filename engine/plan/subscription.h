// SPDX-License-Identifier: Apache-2.0
// engine/plan/subscription.h: compares a number of callers with the cores of a host. The result is
// the column of the planner's table (engine/plan/planner.h).
//
//   column  number of callers
//   under   at most the cores near the NIC, and at least one of all cores has no caller
//   full    more than that, and at most all cores
//   over    more than all cores
//
// If all cores are near the NIC, as on a host with one NUMA node, exactly as many callers as cores
// are `full`. docs/decisions/the-papers-table.md has the reasons.
//
// Source   HatRPC (SC'21), section 3.2
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "config/hints.h"

namespace hat::engine {

inline constexpr size_t kSubscriptionCount = 3;

// The cores of a host, with which a number of callers is compared.
struct CoreCounts {
  // The cores that the daemon may run on by its affinity. A CPU quota (cgroup) is not considered.
  uint32_t cores = 1;
  // The number of these cores on the NUMA node to which the NIC is attached. If this node is not
  // known, the same as `cores`.
  uint32_t nic_cores = 1;

  friend bool operator==(const CoreCounts&, const CoreCounts&) = default;
};

// The most cores that a CoreCounts may have: far above the 8192 cores that Linux supports.
inline constexpr uint32_t kCoresMax = 65'536;
// Returns false if no host has these numbers of cores. A peer may send such numbers.
constexpr bool is_possible(const CoreCounts& host) {
  return host.nic_cores >= 1 && host.nic_cores <= host.cores && host.cores <= kCoresMax;
}

// Returns the column that a value of the hint `concurrency` selects on this host. Without the hint,
// the column is `under`.
inline Subscription subscription(const std::optional<Concurrency>& hint, const CoreCounts& host) {
  if (!hint) return Subscription::kUnder;
  if (const auto* said = std::get_if<Subscription>(&*hint)) return *said;
  const uint32_t callers = std::get<uint32_t>(*hint);
  if (callers <= host.nic_cores && callers < host.cores) return Subscription::kUnder;
  return callers <= host.cores ? Subscription::kFull : Subscription::kOver;
}

}  // namespace hat::engine
