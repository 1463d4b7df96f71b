// SPDX-License-Identifier: Apache-2.0
// engine/plan/planner.h: makes a plan (the protocol, polling and sizes for one function) and the
// plan's reason from the function's hints and facts about a host. The planner is pure: it does no
// I/O and keeps no state, so `hintgen --explain`, `hatctl routes` and the daemon get the same plan.
//
// The planner's table gives protocols and polling by performance goal (row) and number of
// callers (column). A cell names the protocol, or one protocol for small and one for large
// messages, and after a semicolon the polling.
//
//   goal        under                     full                         over
//   latency     direct_write_imm; busy    direct_write_imm; busy       direct_write_imm; event
//   throughput  direct_write_imm; busy    small direct_write_imm,      as full
//                                         large rfp; event
//   res_util    small direct_write_imm,   small eager,                 as full
//               large write_rndv; event   large write_rndv; event
//   none        hybrid_eager_rndv;        as under                     as under
//               adaptive
//
// small   messages of at most Plan::small_bytes_max; all longer messages are large
// under, full, over   engine/plan/subscription.h
//
// Sources: HatRPC SC'21 Figure 6 and sections 3.2, 3.3, 4.3 and 5.2;
// docs/decisions/the-papers-table.md compares each cell with them.
//
// Explicit hints (`protocol`, `polling`, `transport`) override the table. Measured costs, which the
// daemon reads from profiles, change the table's choices (weighing.h).
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/component_costs.h"
#include "config/hints.h"
#include "engine/plan/subscription.h"
#include "engine/protocols.h"

namespace hat::engine {

inline constexpr uint64_t kSmallBytesMax = 4096;  // HatRPC 4.3: the eager/rendezvous threshold

// The facts about a host on which a plan depends.
struct HostFacts {
  uint32_t cores = 1;      // CoreCounts::cores
  uint32_t nic_cores = 1;  // CoreCounts::nic_cores
  bool rdma = false;       // the host has a fabric (access to RDMA) on which lanes can be created
  std::string rdma_absent_reason;  // if `rdma` is false: the reason to quote, e.g. "fabric: tcp"
  // The costs of RDMA operations, measured on the host's fabric; null if they were not measured.
  std::shared_ptr<const ComponentCosts> measured;
  // By the name of a peer: the costs that were measured with this peer, and replace `measured` in
  // plans for calls to it.
  std::map<std::string, std::shared_ptr<const ComponentCosts>, std::less<>> measured_with;

  CoreCounts core_counts() const { return {cores, nic_cores}; }
  // Returns these facts with the cores of another host.
  HostFacts with(const CoreCounts& other) const;
  // Returns the facts for plans of calls to `peer`.
  HostFacts for_calls_to(std::string_view peer) const;
};
// Returns the facts about this host: `cores` counts the cores that the scheduler allows this
// process to use, and `rdma` is false.
HostFacts this_host();

// Describes how a daemon moves the messages of one function.
struct Plan {
  Path path = Path::kTcp;  // what carries the messages on this host: TCP or RDMA
  ProtocolId small{};      // the RDMA protocol for messages of at most small_bytes_max
  ProtocolId large{};      // the RDMA protocol for larger messages; can be the same as `small`
  // The size that separates small from large messages: a constant, or a size that follows from
  // measured costs.
  uint64_t small_bytes_max = kSmallBytesMax;
  Polling polling = Polling::kAdaptive;
  // True for the hint perf_goal=latency: the RDMA lanes of this function are polled separately from
  // all other lanes.
  bool latency = false;
  // The memory to reserve for each message in flight, from the hint `payload_size`. At most
  // small_bytes_max if one lane carries messages by two protocols (has_one_lane()): so a
  // message that is larger by more than the head of a slot exceeds it.
  uint64_t slot_bytes = kSmallBytesMax;
  Numa numa = NumaWord::kAny;
  Priority priority = Priority::kNormal;
  std::optional<std::chrono::milliseconds> timeout;
  bool idempotent = false;
  // The hint `plan: learned` lets the client's daemon measure other choices, and use one of them.
  // False if the hints or the host leave no other choice.
  bool learned = false;
  bool tcp_wanted =
      false;  // `path` is TCP because of the hint `transport: tcp`, not for lack of RDMA
  // One sentence that gives the row and the column of the table, the hints and the cores that
  // selected them, and the hints that overrode the table. If `path` is kTcp although the plan would
  // use RDMA, the sentence also says why.
  std::string reason;

  // Returns true if one lane can carry messages of all sizes: `large` is the same protocol as
  // `small`, or moves messages only by the rendezvous that a lane of `small` uses for messages that
  // exceed a slot. Each message is then moved in the way for its own size.
  bool has_one_lane() const;

  friend bool operator==(const Plan&, const Plan&) = default;
};

// Returns the plan for a function with these hints on this host.
Plan make_plan(const Hints& hints, const HostFacts& host);

// Returns a short text for `plan`, which has one of these forms:
//   "direct_write_imm, busy" or "≤4KiB direct_write_imm, larger rfp; event"
//   one of these texts with " over tcp" appended, if no RDMA is available for the plan
//   "tcp, adaptive", if the hint `transport: tcp` chose TCP
std::string describe(const Plan& plan);
// Returns the protocols and the polling that the plan uses on RDMA, e.g. "direct_write_imm, busy".
std::string choice_words(const Plan& plan);

}  // namespace hat::engine
