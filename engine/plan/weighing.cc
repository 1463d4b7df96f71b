// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/weighing.h"

#include <cstdio>

#include "base/quantities.h"
#include "engine/frame.h"
#include "engine/plan/prediction.h"

namespace hat::engine {
namespace {

constexpr ProtocolId kWriteImm = *find_protocol("direct_write_imm");
constexpr ProtocolId kEager = *find_protocol("eager");
constexpr ProtocolId kRendezvous = *find_protocol("write_rndv");
constexpr ProtocolId kFetching = *find_protocol("rfp");

std::string microseconds(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, ns < 9950 ? "%.1f µs" : "%.0f µs", ns / 1000);
  return text;
}

// Returns the predicted times of a call by two protocols as text, for example "a call of 16KiB
// takes 4.1 µs by direct_write_imm, 22 µs by write_rndv".
std::string comparison(const ComponentCosts& costs, uint64_t bytes, ProtocolId one,
                       ProtocolId other, Polling polling) {
  const auto by = [&](ProtocolId id) {
    return microseconds(call_ns(costs, id, bytes, polling)) + " by " +
           std::string(protocol(id).name);
  };
  return "a call of " + exact_size_text(bytes) + " takes " + by(one) + ", " + by(other);
}

// Changes a plan for perf_goal=latency by the predicted times of a call. The protocol eager
// replaces the plan's protocol if it takes at most kWorth of that protocol's time. Event polling
// replaces busy polling if it adds at most kPollingWorth of the time with busy polling.
void weigh_latency(Plan& plan, bool polling_is_open, const ComponentCosts& costs) {
  const uint64_t bytes = plan.slot_bytes;
  plan.reason += comparison(costs, bytes, plan.small, kEager, plan.polling);
  if (call_ns(costs, kEager, bytes, plan.polling) <=
      kWorth * call_ns(costs, plan.small, bytes, plan.polling)) {
    plan.small = plan.large = kEager;
  }
  const double busy = call_ns(costs, plan.small, bytes, Polling::kBusy);
  const double event = call_ns(costs, plan.small, bytes, Polling::kEvent);
  // A measured wake-up cost of 0 proves nothing: if the two measured sides shared cores, the time
  // that they waited for each other may have hidden the cost of the wake-up.
  if (!polling_is_open || plan.polling != Polling::kBusy || costs.wake_up_ns == 0) return;
  if (event > busy * (1 + kPollingWorth)) return;
  plan.polling = Polling::kEvent;
  plan.reason += ", of which " + microseconds(event - busy) + " are the wake-up";
}

// Returns true if the table has rfp for messages of the plan's size, and calls were measured with
// the plan's polling.
bool has_throughput_choice(const Plan& plan, const ComponentCosts& costs) {
  return plan.large == kFetching && plan.slot_bytes > plan.small_bytes_max &&
         plan.polling == Polling::kEvent && !costs.pushed_calls.empty();
}

void weigh_throughput(Plan& plan, const ComponentCosts& costs) {
  // Larger messages travel in pieces of this size.
  const auto bytes = static_cast<uint32_t>(std::min<uint64_t>(plan.slot_bytes, kPieceBytesMax));
  const double pushed = cost_of(costs.pushed_calls, bytes);
  const double fetched = cost_of(costs.fetched_calls, bytes);
  plan.reason += "of many callers, a call of " + exact_size_text(bytes) + " takes " +
                 microseconds(pushed) + " by " + std::string(protocol(kWriteImm).name) + ", " +
                 microseconds(fetched) + " by " + std::string(protocol(kFetching).name);
  if (pushed > 0 && pushed <= kWorth * fetched) plan.large = kWriteImm;
}

void weigh_border(Plan& plan, const ComponentCosts& costs) {
  plan.small_bytes_max = border_bytes(costs, plan.small, plan.large, plan.polling);
  plan.reason += comparison(costs, plan.small_bytes_max, plan.small, plan.large, plan.polling);
}

void weigh_default(Plan& plan, const ComponentCosts& costs) {
  const uint64_t bytes = plan.slot_bytes;
  const uint64_t border = border_bytes(costs, kWriteImm, kRendezvous, plan.polling);
  plan.reason += comparison(costs, bytes, kWriteImm, plan.small, plan.polling);
  const bool worth = call_ns(costs, kWriteImm, bytes, plan.polling) <=
                     kWorth * call_ns(costs, plan.small, bytes, plan.polling);
  if (!worth || bytes > border) return;
  plan.small = kWriteImm;
  plan.large = kRendezvous;
  plan.small_bytes_max = border;
}

}  // namespace

void weigh(Plan& plan, std::optional<PerfGoal> goal, bool polling_is_open,
           const ComponentCosts& costs) {
  if (goal == PerfGoal::kThroughput && !has_throughput_choice(plan, costs)) return;
  const std::string before = choice_words(plan);
  plan.reason += "; measured: ";
  if (!goal) {
    weigh_default(plan, costs);
  } else if (*goal == PerfGoal::kLatency) {
    weigh_latency(plan, polling_is_open, costs);
  } else if (*goal == PerfGoal::kThroughput) {
    weigh_throughput(plan, costs);
  } else {
    weigh_border(plan, costs);
  }
  const std::string after = choice_words(plan);
  plan.reason += after == before ? ": the choice stays" : ": the choice becomes " + after;
}

}  // namespace hat::engine
