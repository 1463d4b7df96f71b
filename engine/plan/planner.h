// SPDX-License-Identifier: Apache-2.0
// engine/plan/planner.h: makes a plan, and the reason for it, from hints and facts about a host.
// Pure: `hintgen --explain`, `hatctl routes` and the daemon get the same answer.
//
// The table (design note in docs/architecture.md; HatRPC SC'21 Figure 6 and section 3.3):
//
//   goal        under                     full                         over
//   latency     direct_write_imm, busy    direct_write_imm, busy       direct_write_imm, event
//   throughput  direct_write_imm, busy    small direct_write_imm,      as full
//                                         large rfp; event
//   res_util    small direct_write_imm,   small eager,                 as full
//               large write_rndv; event   large write_rndv; event
//   none        hybrid_eager_rndv,        as under                     as under
//               adaptive
//
// small: at most Plan::small_bytes_max. under: callers ≤ HostFacts::nic_cores; full: callers ≤ all
// cores; over: more callers. Explicit hints (`protocol`, `polling`, `transport`) override the
// table, and measured costs (`profile`) override its constants: weighing.h.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "config/component_costs.h"
#include "config/hints.h"
#include "engine/protocols.h"

namespace hat::engine {

inline constexpr uint64_t kSmallBytesMax = 4096;  // HatRPC 4.3: the eager/rendezvous threshold

// What the planner needs to know about a host.
struct HostFacts {
  uint32_t cores = 1;      // cores that this process may run on
  uint32_t nic_cores = 1;  // of the NIC's NUMA node; hatrpcd does not read it and uses all cores
  bool rdma = false;       // a fabric with RDMA lanes is available
  std::string rdma_absent_reason;  // quoted in plans if rdma is false: "fabric: tcp", …
  std::shared_ptr<const ComponentCosts> measured;  // of its fabric; null: not measured
};
HostFacts this_host();  // the cores that the scheduler allows; no RDMA

// How one side of one function moves its messages.
struct Plan {
  Path path = Path::kTcp;  // what carries the messages on this host
  ProtocolId small{};      // wanted on RDMA for messages up to small_bytes_max
  ProtocolId large{};      // wanted for larger ones; a hint or the table may name the same
  uint64_t small_bytes_max = kSmallBytesMax;  // or the measured border
  Polling polling = Polling::kAdaptive;
  bool latency = false;  // perf_goal=latency: its lanes are polled apart from all others
  uint64_t slot_bytes = kSmallBytesMax;  // memory to reserve per message in flight: `payload_size`
  Numa numa = NumaWord::kAny;
  Priority priority = Priority::kNormal;
  std::optional<std::chrono::milliseconds> timeout;
  bool idempotent = false;
  bool tcp_wanted = false;  // the hint `transport: tcp` decided, not a lack of RDMA
  // One sentence: the hints that decided, the row and the column that they select, what overrode
  // the table, and, if path is kTcp although the plan wants RDMA, why.
  std::string reason;

  friend bool operator==(const Plan&, const Plan&) = default;
};

Plan make_plan(const Hints& hints, const HostFacts& host);

// Returns one of:
//   "direct_write_imm, busy" or "≤4KiB direct_write_imm, larger rfp; event"
//   the same with " over tcp" appended, if the path is TCP although the plan wants RDMA
//   "tcp, adaptive", if the hint `transport: tcp` decided
std::string describe(const Plan& plan);
std::string choice_words(const Plan& plan);  // for RDMA: "direct_write_imm, busy"

std::string size_words(uint64_t bytes);  // "512B", "4KiB", "100000B"

}  // namespace hat::engine
