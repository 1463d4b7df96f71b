// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_plan.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <tuple>
#include <utility>

#include "base/quantities.h"
#include "config/hint_keys.h"
#include "engine/plan/planner.h"

namespace hat {

namespace {

constexpr uint64_t kLargestSlot = engine::kPieceBytesMax;

auto members(const engine::LaneShape& shape) {
  return std::tuple(shape.leg, shape.beyond, shape.slots, shape.slot_bytes);
}

// Returns true if both keys lead to lanes of the same shapes, in the same class.
bool alike(const LaneKey& one, const LaneKey& other) {
  const engine::LaneWish first = wish_of(one);
  const engine::LaneWish second = wish_of(other);
  return first.lanes == second.lanes && members(first.out) == members(second.out) &&
         members(first.back) == members(second.back);
}

bool alike(const WantedLanes& one, const WantedLanes& other) {
  return std::ranges::equal(one.small.by_column, other.small.by_column,
                            [](const auto& a, const auto& b) { return alike(a, b); }) &&
         std::ranges::equal(one.large.by_column, other.large.by_column,
                            [](const auto& a, const auto& b) { return alike(a, b); });
}

// TCP needs no lanes.
bool alike(const LearnedWay& one, const LearnedWay& other) {
  return one.plan.path == other.plan.path &&
         (one.plan.path == Path::kTcp || alike(one.lanes, other.lanes));
}

void add(std::vector<LearnedWay>& ways, LearnedWay way) {
  const bool is_new =
      std::ranges::none_of(ways, [&](const LearnedWay& one) { return alike(one, way); });
  if (is_new) ways.push_back(std::move(way));
}

// Returns a way that uses one protocol for messages of all sizes.
LearnedWay way_of(const std::string& protocol, std::optional<uint64_t> payload, Hints client,
                  Hints server, const engine::HostFacts& host) {
  for (Hints* hints : {&client, &server}) {
    hints->protocol = protocol;
    if (payload) hints->payload_bytes = payload;
  }
  LearnedWay way{protocol, make_plan(client, host), {}};
  if (payload) way.name += " with " + exact_size_text(*payload) + " slots";
  way.lanes = wanted_lanes(way.plan, server, host);
  return way;
}

constexpr std::string_view kTcp = "tcp";

// The carriers in the order in which they are tried: first those that were often the fastest on the
// hosts on which hatrpc was measured (docs/results.md).
constexpr auto kOrder = std::to_array<std::string_view>({
    "direct_write_imm",
    "read_rndv",
    "write_rndv",
    "rfp",
    "hybrid_eager_rndv",
    kTcp,
    "ar_grpc",
    "farm",
    "pilaf",
    "herd",
    "hipower",
    "eager",
    "direct_write_send",
    "chained_write_send",
});
static_assert(std::ranges::all_of(kProtocolWords, [](std::string_view name) {
  return std::ranges::count(kOrder, name) == 1;
}));

LearnedWay tcp_way(Hints client, const engine::HostFacts& host) {
  client.transport = Path::kTcp;
  return {std::string(kTcp), make_plan(client, host), {}};
}

void add_carriers(std::vector<LearnedWay>& ways, const Hints& client, const Hints& server,
                  const engine::HostFacts& host) {
  for (const std::string_view carrier : kOrder) {
    const std::string name(carrier);
    if (carrier == kTcp) {
      if (client.transport != Path::kRdma) add(ways, tcp_way(client, host));
      continue;
    }
    add(ways, way_of(name, std::nullopt, client, server, host));
    if (client.perf_goal == PerfGoal::kResUtil) continue;  // large slots cost memory
    add(ways, way_of(name, kLargestSlot, client, server, host));
  }
}

}  // namespace

std::vector<Polling> open_pollings(const Hints& hints) {
  if (hints.polling) return {*hints.polling};
  if (hints.perf_goal == PerfGoal::kLatency || hints.perf_goal == PerfGoal::kThroughput) {
    return {Polling::kBusy, Polling::kEvent, Polling::kAdaptive};
  }
  return {Polling::kEvent, Polling::kAdaptive};
}

std::vector<Polling> pollings_to_ask_for(const LearnedPlan* learned, const Hints& server) {
  const bool is_open = learned != nullptr && learned->pollings.size() > 1;
  if (!is_open || server.polling || server.perf_goal == PerfGoal::kResUtil) return {};
  return open_pollings(server);
}

CallPolling LearnedPlan::polling_of(size_t choice) const {
  CallPolling polling{.client = pollings[choice % pollings.size()]};
  const bool is_hinted = choice == first_polling;  // the plan of the hints is the first way
  if (!is_hinted && goal != PerfGoal::kResUtil) polling.server = polling.client;
  return polling;
}

std::string LearnedPlan::name(size_t choice) const {
  const Polling polling = pollings[choice % pollings.size()];
  return ways[choice / pollings.size()].name + ", " +
         std::string(kPollingWords[static_cast<size_t>(polling)]);
}

std::string LearnedPlan::kept_name(size_t choice) const {
  if (!goal) return name(choice);
  return name(choice) + " (" + std::string(kPerfGoalWords[static_cast<size_t>(*goal)]) + ")";
}

std::optional<size_t> LearnedPlan::find(std::string_view wanted) const {
  for (size_t choice = 0; choice < choices(); ++choice) {
    if (kept_name(choice) == wanted) return choice;
  }
  return std::nullopt;
}

bool LearnedPlan::has_choices_of(const LearnedPlan& other) const {
  return goal == other.goal && pollings == other.pollings && first_polling == other.first_polling &&
         std::ranges::equal(ways, other.ways, [](const LearnedWay& one, const LearnedWay& two) {
           return one.name == two.name && one.plan.small_bytes_max == two.plan.small_bytes_max &&
                  alike(one, two);
         });
}

std::shared_ptr<const LearnedPlan> learned_plan(const engine::Plan& hinted, const Hints& client,
                                                const Hints& server,
                                                const engine::HostFacts& host) {
  LearnedPlan plan{.goal = client.perf_goal, .ways = {}, .pollings = open_pollings(client)};
  plan.ways.push_back({"the plan of the hints", hinted, wanted_lanes(hinted, server, host), false});
  if (hinted.path == Path::kRdma && !client.protocol && !server.protocol) {
    add_carriers(plan.ways, client, server, host);
  }
  const auto first = std::ranges::find(plan.pollings, hinted.polling);
  plan.first_polling = static_cast<size_t>(first - plan.pollings.begin());
  if (first == plan.pollings.end()) plan.pollings.push_back(hinted.polling);
  return plan.choices() == 1 ? nullptr : std::make_shared<const LearnedPlan>(std::move(plan));
}

}  // namespace hat
