// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/planner.h"

#include <algorithm>
#include <array>
#include <thread>

#include "base/cores.h"
#include "base/quantities.h"
#include "engine/plan/weighing.h"

namespace hat::engine {
namespace {

constexpr ProtocolId id(std::string_view name) { return *find_protocol(name); }

// One cell of the planner's table, which planner.h shows: the protocols for small and for large
// messages, and the polling.
struct Choice {
  ProtocolId small;
  ProtocolId large;
  Polling polling;
};

constexpr Choice same(std::string_view name, Polling polling) {
  return {id(name), id(name), polling};
}
constexpr Choice split(std::string_view small, std::string_view large, Polling polling) {
  return {id(small), id(large), polling};
}

struct Row {
  std::string_view goal;
  std::array<Choice, kSubscriptionCount> by_subscription;
};

constexpr auto kBusy = Polling::kBusy;
constexpr auto kEvent = Polling::kEvent;
constexpr auto kAdaptive = Polling::kAdaptive;

// The planner's table: one row for each value of the hint perf_goal, and a last row for functions
// without this hint.
constexpr std::array kTable = {
    Row{"perf_goal=latency",
        {same("direct_write_imm", kBusy), same("direct_write_imm", kBusy),
         same("direct_write_imm", kEvent)}},
    Row{"perf_goal=throughput",
        {same("direct_write_imm", kBusy), split("direct_write_imm", "rfp", kEvent),
         split("direct_write_imm", "rfp", kEvent)}},
    Row{"perf_goal=res_util",
        {split("direct_write_imm", "write_rndv", kEvent), split("eager", "write_rndv", kEvent),
         split("eager", "write_rndv", kEvent)}},
    Row{"none",
        {same("hybrid_eager_rndv", kAdaptive), same("hybrid_eager_rndv", kAdaptive),
         same("hybrid_eager_rndv", kAdaptive)}},
};

constexpr std::array<std::string_view, 3> kSubscriptions = {"under", "full", "over"};
constexpr std::array<std::string_view, 3> kPollings = {"busy", "event", "adaptive"};

// Returns how a number of callers compares with the host's cores, for example "is more than the 2
// cores that hatrpcd may use".
std::string comparison_words(const HostFacts& host, Subscription column) {
  const std::string all = "the " + std::to_string(host.cores) +
                          (host.cores == 1 ? " core" : " cores") + " that hatrpcd may use";
  if (column == Subscription::kOver) return "is more than " + all;
  if (host.nic_cores == host.cores) {
    return (column == Subscription::kUnder ? "is less than " : "is as many as ") + all;
  }
  const std::string near = "the " + std::to_string(host.nic_cores) + " near the NIC";
  return column == Subscription::kUnder ? "is at most " + near + ", of " + all
                                        : "is more than " + near + " and at most " + all;
}

// Returns the hint that selects the column of the table, and why, for example "concurrency=16 is
// more than the 2 cores that hatrpcd may use".
std::string concurrency_words(const Hints& hints, const HostFacts& host, Subscription column) {
  if (!hints.concurrency) return "no hint concurrency";
  if (std::holds_alternative<Subscription>(*hints.concurrency)) {
    return "concurrency=" + std::string(kSubscriptions[static_cast<size_t>(column)]);
  }
  return "concurrency=" + std::to_string(std::get<uint32_t>(*hints.concurrency)) + " " +
         comparison_words(host, column);
}

// Returns the row and the column of the table, and the host's cores if they decided.
std::string cell_words(const Hints& hints, const HostFacts& host, std::string_view row,
                       Subscription column) {
  return "row " + std::string(row) + ", column " +
         std::string(kSubscriptions[static_cast<size_t>(column)]) + " (" +
         concurrency_words(hints, host, column) + ")";
}

std::string protocol_words(const Plan& plan) {
  const std::string small(protocol(plan.small).name);
  const std::string large(protocol(plan.large).name);
  return small == large
             ? small
             : "≤" + exact_size_text(plan.small_bytes_max) + " " + small + ", larger " + large;
}

}  // namespace

HostFacts HostFacts::for_calls_to(std::string_view peer) const {
  HostFacts facts = *this;
  const auto found = measured_with.find(peer);
  if (found != measured_with.end()) facts.measured = found->second;
  return facts;
}

HostFacts this_host() {
  HostFacts host;
  const size_t allowed = allowed_cores().size();
  host.cores = allowed != 0 ? static_cast<uint32_t>(allowed)
                            : std::max(1u, std::thread::hardware_concurrency());
  host.nic_cores = host.cores;
  host.rdma_absent_reason = "no RDMA device was looked for";
  return host;
}

bool Plan::has_one_lane() const {
  const Leg beyond = protocol(small).beyond;
  const Protocol& other = protocol(large);
  return small == large || (other.request == beyond && other.response == beyond);
}

HostFacts HostFacts::with(const CoreCounts& other) const {
  HostFacts host = *this;
  host.cores = other.cores;
  host.nic_cores = other.nic_cores;
  return host;
}

namespace {

// Makes the plan that the table gives, without regard to the hints that override the table.
Plan table_plan(const Hints& hints, const HostFacts& host) {
  const size_t goal = hints.perf_goal ? static_cast<size_t>(*hints.perf_goal) : kTable.size() - 1;
  const Subscription column = subscription(hints.concurrency, host.core_counts());
  const Choice& choice = kTable[goal].by_subscription[static_cast<size_t>(column)];

  Plan plan;
  plan.small = choice.small;
  plan.large = choice.large;
  plan.polling = choice.polling;
  if (hints.payload_bytes) plan.slot_bytes = *hints.payload_bytes;
  plan.latency = hints.perf_goal == PerfGoal::kLatency;
  plan.reason = cell_words(hints, host, kTable[goal].goal, column) + ": " + choice_words(plan);
  return plan;
}

}  // namespace

Plan make_plan(const Hints& hints, const HostFacts& host) {
  Plan plan = table_plan(hints, host);
  if (hints.protocol) {
    plan.small = plan.large = *find_protocol(*hints.protocol);
    plan.reason += "; protocol=" + *hints.protocol + " overrides";
  }
  if (hints.polling) {
    plan.polling = *hints.polling;
    plan.reason +=
        "; polling=" + std::string(kPollings[static_cast<size_t>(plan.polling)]) + " overrides";
  }
  if (host.rdma && host.measured && !hints.protocol && hints.transport != Path::kTcp) {
    weigh(plan, hints.perf_goal, !hints.polling, *host.measured);
  }
  if (plan.small != plan.large && plan.has_one_lane()) {
    plan.slot_bytes = std::min(plan.slot_bytes, plan.small_bytes_max);
  }
  plan.numa = hints.numa.value_or(NumaWord::kAny);
  plan.priority = hints.priority.value_or(Priority::kNormal);
  plan.timeout = hints.timeout;
  plan.idempotent = hints.idempotent.value_or(false);
  plan.tcp_wanted = hints.transport == Path::kTcp;
  plan.path = host.rdma && !plan.tcp_wanted ? Path::kRdma : Path::kTcp;
  if (plan.tcp_wanted) {
    plan.reason += "; transport=tcp overrides: TCP carries the calls";
  } else if (!host.rdma) {
    plan.reason += "; TCP carries the calls: " + host.rdma_absent_reason;
  }
  const bool is_open = plan.path == Path::kRdma && !(hints.protocol && hints.polling);
  if (hints.plan == PlanSource::kLearned && is_open) {
    plan.learned = true;
    plan.reason += "; plan=learned: measurements decide whether another choice replaces this one";
  }
  return plan;
}

std::string choice_words(const Plan& plan) {
  const bool is_split = plan.small != plan.large;
  return protocol_words(plan) + (is_split ? "; " : ", ") +
         std::string(kPollings[static_cast<size_t>(plan.polling)]);
}

std::string describe(const Plan& plan) {
  if (plan.tcp_wanted) {
    return "tcp, " + std::string(kPollings[static_cast<size_t>(plan.polling)]);
  }
  return choice_words(plan) + (plan.path == Path::kTcp ? " over tcp" : "");
}

}  // namespace hat::engine
