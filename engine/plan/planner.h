// SPDX-License-Identifier: Apache-2.0
// engine/plan/planner.h: hints and a host, to a plan and the reason. Pure: the same answer in
// `hintgen --explain`, `hatctl routes` and the daemon.
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
// small: at most Plan::small_bytes_max. under: callers ≤ HostFacts::nic_cores; full: ≤ all cores;
// over: more. Explicit hints (`protocol`, `polling`, `transport`) win over the table, and
// what was measured (`profile`) wins over its constants: weighing.h.
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

// What the planner needs to know of a host.
struct HostFacts {
  uint32_t cores = 1;              // that this process may run on
  uint32_t nic_cores = 1;          // of the NIC's NUMA node; hatrpcd does not read it: all cores
  bool rdma = false;               // a fabric with RDMA lanes is there
  std::string rdma_absent_reason;  // said in plans when rdma is false: "fabric: tcp", …
  std::shared_ptr<const ComponentCosts> measured;  // of its fabric; null: nobody has measured them
};
HostFacts this_host();  // cores as the scheduler allows, no RDMA

// How one side of one function moves its messages.
struct Plan {
  Path path = Path::kTcp;  // what will carry it on this host
  ProtocolId small{};      // wanted on RDMA for messages up to small_bytes_max,
  ProtocolId large{};      //   and above; the same where a hint or the table says so
  uint64_t small_bytes_max = kSmallBytesMax;  // or what was measured
  Polling polling = Polling::kAdaptive;
  bool latency = false;  // perf_goal=latency: its lanes are polled apart from all others
  uint64_t slot_bytes = kSmallBytesMax;  // memory to reserve per message in flight: `payload_size`
  Numa numa = NumaWord::kAny;
  Priority priority = Priority::kNormal;
  std::optional<std::chrono::milliseconds> timeout;
  bool idempotent = false;
  bool tcp_wanted = false;  // the hint `transport: tcp` decided, not a lack of RDMA
  // One sentence: the hints that decided, the row and column they led to, what overrode the table,
  // and, where path is kTcp against the plan's wish, why.
  std::string reason;

  friend bool operator==(const Plan&, const Plan&) = default;
};

Plan make_plan(const Hints& hints, const HostFacts& host);

// "direct_write_imm, busy" | "≤4KiB direct_write_imm, larger rfp; event" | with " over tcp"
// appended where the path is TCP against the wish | "tcp, adaptive" where the hint `transport: tcp`
// decided.
std::string describe(const Plan& plan);
std::string choice_words(const Plan& plan);  // of RDMA: "direct_write_imm, busy"

std::string size_words(uint64_t bytes);  // "512B", "4KiB", "100000B"

}  // namespace hat::engine
