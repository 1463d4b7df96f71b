// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/planner.h"

#include <sched.h>

#include <algorithm>
#include <array>
#include <thread>

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
  std::array<Choice, 3> by_subscription;  // under, full, over
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
    Row{"no perf_goal",
        {same("hybrid_eager_rndv", kAdaptive), same("hybrid_eager_rndv", kAdaptive),
         same("hybrid_eager_rndv", kAdaptive)}},
};

constexpr std::array<std::string_view, 3> kSubscriptions = {"under", "full", "over"};
constexpr std::array<std::string_view, 3> kPollings = {"busy", "event", "adaptive"};

Subscription subscription(const Hints& hints, const HostFacts& host) {
  if (!hints.concurrency) return Subscription::kUnder;
  if (const auto* said = std::get_if<Subscription>(&*hints.concurrency)) return *said;
  const uint32_t callers = std::get<uint32_t>(*hints.concurrency);
  if (callers <= host.nic_cores) return Subscription::kUnder;
  return callers <= host.cores ? Subscription::kFull : Subscription::kOver;
}

// Returns the column of the table and why the hints select that column, for example
// "concurrency=16: over, the host has 2 cores".
std::string concurrency_words(const Hints& hints, const HostFacts& host, Subscription where) {
  const std::string column(kSubscriptions[static_cast<size_t>(where)]);
  if (!hints.concurrency) return "no concurrency (assumed under-subscribed)";
  if (std::holds_alternative<Subscription>(*hints.concurrency)) return "concurrency=" + column;
  const std::string callers = std::to_string(std::get<uint32_t>(*hints.concurrency));
  if (where == Subscription::kUnder && host.nic_cores != host.cores) {
    return "concurrency=" + callers + ": under, the NIC's node has " +
           std::to_string(host.nic_cores) + " cores";
  }
  return "concurrency=" + callers + ": " + column + ", the host has " + std::to_string(host.cores) +
         " cores";
}

std::string protocol_words(const Plan& plan) {
  const std::string small(protocol(plan.small).name);
  const std::string large(protocol(plan.large).name);
  return small == large
             ? small
             : "≤" + exact_size_text(plan.small_bytes_max) + " " + small + ", larger " + large;
}

}  // namespace

HostFacts this_host() {
  HostFacts host;
  cpu_set_t allowed;
  const bool known = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
  host.cores = known ? static_cast<uint32_t>(CPU_COUNT(&allowed))
                     : std::max(1u, std::thread::hardware_concurrency());
  host.nic_cores = host.cores;
  host.rdma_absent_reason = "no RDMA device was looked for";
  return host;
}

Plan make_plan(const Hints& hints, const HostFacts& host) {
  const size_t goal = hints.perf_goal ? static_cast<size_t>(*hints.perf_goal) : kTable.size() - 1;
  const Subscription where = subscription(hints, host);
  const Choice& choice = kTable[goal].by_subscription[static_cast<size_t>(where)];

  Plan plan;
  plan.small = choice.small;
  plan.large = choice.large;
  plan.polling = choice.polling;
  plan.latency = hints.perf_goal == PerfGoal::kLatency;
  plan.reason = std::string(kTable[goal].goal) + " and " + concurrency_words(hints, host, where) +
                ": " + protocol_words(plan) + ", " +
                std::string(kPollings[static_cast<size_t>(plan.polling)]);
  if (hints.protocol) {
    plan.small = plan.large = *find_protocol(*hints.protocol);
    plan.reason += "; protocol=" + *hints.protocol + " overrides";
  }
  if (hints.polling) {
    plan.polling = *hints.polling;
    plan.reason +=
        "; polling=" + std::string(kPollings[static_cast<size_t>(plan.polling)]) + " overrides";
  }
  if (hints.payload_bytes) plan.slot_bytes = *hints.payload_bytes;
  if (host.rdma && host.measured && !hints.protocol && hints.transport != Path::kTcp) {
    weigh(plan, hints.perf_goal, !hints.polling, *host.measured);
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
