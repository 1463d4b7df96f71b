// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/advice.h"

#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "base/check.h"
#include "base/quantities.h"
#include "config/hint_keys.h"
#include "config/hint_values.h"
#include "engine/plan/prediction.h"
#include "engine/rdma/leg_table.h"

namespace hat {
namespace {

using engine::HostFacts;
using engine::Plan;
using Sizes = HistogramSnapshot<kSizeBuckets>;

// --- What was seen -------------------------------------------------------------------------------

constexpr uint64_t kSmall = engine::kSmallBytesMax;
constexpr uint64_t kBulk = 64 * 1024;  // more bytes travel in several pieces

uint64_t bound_of(size_t bucket) { return kSizeUnit << bucket; }

// Returns a size in bytes that at least `share` of the messages do not exceed.
uint64_t size_at(const Sizes& sizes, double share) {
  const double wanted = share * static_cast<double>(sizes.count());
  double seen = 0;
  for (size_t i = 0; i < kSizeBuckets; ++i) {
    seen += static_cast<double>(sizes.buckets[i]);
    if (seen >= wanted) return bound_of(i);
  }
  return bound_of(kSizeBuckets - 1);
}

// Returns the share of `all` messages or calls of which a message is certainly larger than `bytes`.
double share_above(const Sizes& sizes, uint64_t bytes, uint64_t all) {
  uint64_t above = 0;
  for (size_t i = 1; i < kSizeBuckets; ++i) {
    if (bound_of(i - 1) >= bytes) above += sizes.buckets[i];
  }
  return all == 0 ? 0 : static_cast<double>(above) / static_cast<double>(all);
}
double share_above(const Sizes& sizes, uint64_t bytes) {
  return share_above(sizes, bytes, sizes.count());
}

std::string percent(double share) { return std::to_string(static_cast<int>(share * 100)) + "%"; }

// One side of one function, as the rules see it.
struct Seen {
  Side side;
  Hints hints;              // the hints that hold for this side
  const EndedCalls& ended;  // the calls on this side, or on the other one if it has more
  const Observation& own;   // this side on this node; without calls if this node is not this side
  const HostFacts& host;

  const Sizes& sizes() const {
    return side == Side::kClient ? ended.request_sizes : ended.reply_sizes;
  }
  bool knows_sizes() const { return sizes().count() >= kAdviceCalls; }
  bool knows_callers() const { return own.in_flight.count() >= kAdviceSamples; }
  Subscription column(uint64_t callers) const {
    return engine::subscription(Concurrency(static_cast<uint32_t>(std::max<uint64_t>(callers, 1))),
                                host.core_counts());
  }
  std::string messages() const { return side == Side::kClient ? "requests" : "replies"; }
  std::string most_of_sizes() const {
    return "99% of " + count_text(static_cast<double>(sizes().count())) + " " + messages() +
           " have at most " + exact_size_text(size_at(sizes(), 0.99));
  }
};

// --- The rules -----------------------------------------------------------------------------------

struct Finding {
  std::optional<std::string> to;  // nullopt: leave the choice to the planner
  std::string evidence;
};
using Found = std::optional<Finding>;

Found judge_payload_size(const Seen& seen) {
  if (!seen.knows_sizes()) return std::nullopt;
  const uint64_t declared = seen.hints.payload_bytes.value_or(kSmall);
  const uint64_t most = size_at(seen.sizes(), 0.99);
  // A message is a little longer than the payload that the hint means, so only twice the size
  // contradicts the hint.
  const uint64_t countable = std::min(declared, bound_of(kSizeBuckets - 1));
  const double larger = share_above(seen.sizes(), 2 * countable);
  // If small and large messages have lanes of their own, the hint moves all replies to one of them.
  const double tolerated = make_plan(seen.hints, seen.host).has_one_lane() ? 0.1 : 0.5;
  if (larger > tolerated) {
    return Finding{exact_size_text(most), percent(larger) + " of the " + seen.messages() +
                                              " are more than twice as large as " +
                                              exact_size_text(declared) + "; " +
                                              seen.most_of_sizes()};
  }
  if (declared > kSmall && most <= declared / 8) {
    return Finding{exact_size_text(most), seen.most_of_sizes()};
  }
  return std::nullopt;
}

Found judge_perf_goal(const Seen& seen) {
  const Sizes& requests = seen.ended.request_sizes;
  const Sizes& replies = seen.ended.reply_sizes;
  if (seen.ended.calls < kAdviceCalls) return std::nullopt;
  if (seen.hints.perf_goal == PerfGoal::kLatency) {
    const uint64_t calls = seen.ended.calls;
    const double bulk =
        std::max(share_above(requests, kBulk, calls), share_above(replies, kBulk, calls));
    if (bulk <= 0.5) return std::nullopt;
    return Finding{"throughput", percent(bulk) + " of the calls move more than " +
                                     exact_size_text(kBulk) + " in one direction"};
  }
  if (seen.hints.perf_goal != PerfGoal::kThroughput || !seen.knows_callers()) return std::nullopt;
  const bool small = size_at(requests, 0.99) <= kSmall && size_at(replies, 0.99) <= kSmall;
  const bool alone = seen.own.in_flight.at(0.99) == 1 &&
                     seen.column(seen.own.node_in_flight.at(0.99)) == Subscription::kUnder;
  if (!small || !alone) return std::nullopt;
  return Finding{"latency", "one call in flight for 99% of the time, with messages of at most " +
                                exact_size_text(kSmall) + ": one caller waits for each reply"};
}

Found judge_concurrency(const Seen& seen) {
  if (!seen.knows_callers()) return std::nullopt;
  const Subscription declared =
      engine::subscription(seen.hints.concurrency, seen.host.core_counts());
  const FlightSamples& own = seen.own.in_flight;
  const uint64_t usual = own.at(0.5);
  if (seen.column(usual) > declared) {
    return Finding{std::to_string(own.at(0.9)),
                   "half of the time at least " + plural(usual, "call") + " in flight, and " +
                       std::to_string(own.at(0.9)) + " for a tenth of it"};
  }
  // If other functions occupy the host, few callers of this function do not matter.
  const uint64_t on_node = seen.own.node_in_flight.at(0.99);
  if (!seen.hints.concurrency || seen.column(on_node) >= declared) return std::nullopt;
  return Finding{std::to_string(std::max<uint64_t>(own.at(0.99), 1)),
                 "at most " + plural(own.at(0.99), "call") +
                     " in flight for 99% of the time, and " + std::to_string(on_node) +
                     " of all functions of this node"};
}

// The protocols that combine SENDs for small messages with a rendezvous for larger ones on purpose.
constexpr std::array<std::string_view, 2> kForAllSizes = {"hybrid_eager_rndv", "ar_grpc"};

Found judge_protocol(const Seen& seen) {
  if (!seen.hints.protocol || !seen.knows_sizes()) return std::nullopt;
  const engine::Protocol& forced = engine::protocol(*engine::find_protocol(*seen.hints.protocol));
  const engine::Leg leg = seen.side == Side::kClient ? forced.request : forced.response;
  // A rendezvous needs little memory, which is what res_util asks for.
  const bool saves_memory = seen.hints.perf_goal == PerfGoal::kResUtil;
  if (engine::row(leg).on_demand && !saves_memory && size_at(seen.sizes(), 0.99) <= kSmall) {
    return Finding{std::nullopt, seen.most_of_sizes() + ", and " + std::string(forced.name) +
                                     " needs three messages for each of them"};
  }
  const bool has_rendezvous = std::ranges::find(kForAllSizes, forced.name) != kForAllSizes.end();
  const double larger = share_above(seen.sizes(), 2 * kSmall);
  if (!has_rendezvous && leg == engine::Leg::kSend && larger > 0.5) {
    return Finding{std::nullopt, percent(larger) + " of the " + seen.messages() +
                                     " are too large for a SEND of at most " +
                                     exact_size_text(kSmall)};
  }
  return std::nullopt;
}

Found judge_polling(const Seen& seen) {
  if (seen.hints.polling != Polling::kBusy || !seen.knows_callers()) return std::nullopt;
  const uint64_t usual = seen.own.node_in_flight.at(0.5);
  if (seen.column(usual) != Subscription::kOver) return std::nullopt;
  // The planner knows the callers of this function only from its hints, and not those of the node.
  Hints free = seen.hints;
  free.polling.reset();
  const bool planner_differs = make_plan(free, seen.host).polling != Polling::kBusy;
  return Finding{planner_differs ? std::nullopt : std::optional<std::string>("event"),
                 "half of the time at least " + plural(usual, "call") +
                     " in flight on this node, which has " + plural(seen.host.cores, "core")};
}

Found judge_timeout(const Seen& seen) {
  if (seen.side != Side::kClient || !seen.hints.timeout) return std::nullopt;
  const EndedCalls& ended = seen.own.ended;
  if (ended.calls < kAdviceCalls) return std::nullopt;
  // Calls that a shorter time-out of an earlier manifest has ended do not count.
  const uint64_t limit_us = static_cast<uint64_t>(seen.hints.timeout->count()) * 1000;
  uint64_t as_long = 0;
  for (size_t i = 0; i < kLatencyBuckets; ++i) {
    if ((uint64_t{1} << i) >= limit_us) as_long += ended.latency.buckets[i];
  }
  const uint64_t timed_out = std::min(ended.timed_out, as_long);
  // If hardly any call is in time, the server may be down, and no time is long enough.
  const bool server_answers = ended.calls - std::min(ended.calls, timed_out) >= ended.calls / 10;
  if (timed_out < 20 || timed_out < ended.calls / 100 || !server_answers) return std::nullopt;
  const auto longer =
      std::min<int64_t>(4 * seen.hints.timeout->count(), std::numeric_limits<uint32_t>::max());
  return Finding{std::to_string(longer), std::to_string(timed_out) + " of " +
                                             plural(ended.calls, "call") + " took longer than " +
                                             std::to_string(seen.hints.timeout->count()) + " ms"};
}

struct Rule {
  std::string_view key;
  Found (*judge)(const Seen& seen);
};
// The order matters: what one rule changes, the next rules take into account.
constexpr std::array kRules = {
    Rule{"perf_goal", judge_perf_goal},     Rule{"payload_size", judge_payload_size},
    Rule{"concurrency", judge_concurrency}, Rule{"protocol", judge_protocol},
    Rule{"polling", judge_polling},         Rule{"timeout_ms", judge_timeout},
};

// --- The effect of a change ----------------------------------------------------------------------

// How this host carries the calls of a function with certain hints.
struct Effect {
  Plan client;
  Plan server;
  engine::LaneWish small;  // the lanes to a server's host like this one
  engine::LaneWish large;
};

Effect effect_of(const HintGroups& function, const HintGroups& service, const HostFacts& host) {
  const Hints of_server = effective(function, service, Side::kServer);
  const Plan client = make_plan(effective(function, service, Side::kClient), host);
  const WantedLanes lanes = wanted_lanes(client, of_server, host);
  return {client, make_plan(of_server, host), wish_of(lanes.small.at(host.core_counts())),
          wish_of(lanes.large.at(host.core_counts()))};
}

bool same_shape(const engine::LaneShape& one, const engine::LaneShape& other) {
  return one.leg == other.leg && one.beyond == other.beyond && one.slots == other.slots &&
         one.slot_bytes == other.slot_bytes;
}

bool same_lane(const engine::LaneWish& one, const engine::LaneWish& other) {
  return one.lanes == other.lanes && same_shape(one.out, other.out) &&
         same_shape(one.back, other.back);
}

// Returns true if this host carries calls in the same way. If TCP carries them, protocols do not
// count.
bool same_effect(const Effect& one, const Effect& other) {
  if (one.client.polling != other.client.polling || one.server.polling != other.server.polling ||
      one.client.timeout != other.client.timeout) {
    return false;
  }
  return one.client.path == Path::kTcp ||
         (one.client.small_bytes_max == other.client.small_bytes_max &&
          same_lane(one.small, other.small) && same_lane(one.large, other.large));
}

std::string shape_text(const engine::LaneShape& shape) {
  return plural(shape.slots, "slot") + " of " + size_text(shape.slot_bytes);
}

// Returns what differs between two effects, for people.
std::string gain_text(const Effect& before, const Effect& after) {
  std::string text;
  const auto add = [&](const std::string& what, const std::string& from, const std::string& to) {
    if (from == to) return;
    text += (text.empty() ? "" : "; ") + what + " " + to + " in place of " + from;
  };
  const auto lanes_text = [](const Plan& plan) {
    return plan.latency ? "lanes for latency" : "lanes for throughput";
  };
  const auto wait_text = [](const Plan& plan) {
    return plan.timeout ? std::to_string(plan.timeout->count()) + " ms" : std::string("any time");
  };
  add("requests by", describe(before.client), describe(after.client));
  add("replies by", describe(before.server), describe(after.server));
  add("a reply may take", wait_text(before.client), wait_text(after.client));
  if (after.client.path == Path::kTcp) return text;
  add("calls use", lanes_text(before.client), lanes_text(after.client));
  add("a lane has for requests", shape_text(before.small.out), shape_text(after.small.out));
  add("a lane has for replies", shape_text(before.small.back), shape_text(after.small.back));
  return text.empty() ? "larger requests use other lanes" : text;
}

// Returns the predicted time of a call whose messages have `bytes`, by measured costs.
double predicted_us(const Plan& plan, uint64_t bytes, const ComponentCosts& costs) {
  const auto protocol = bytes <= plan.small_bytes_max ? plan.small : plan.large;
  return engine::call_ns(costs, protocol, bytes, plan.polling) / 1000;
}

// Returns how the predicted time of a call changes. `goal` is that of the plan `after`. The
// prediction adds up single operations, so it says nothing about throughput.
std::string prediction_text(const Plan& before, const Plan& after, std::optional<PerfGoal> goal,
                            const Seen& seen) {
  if (!seen.host.measured || !seen.knows_sizes() || after.path == Path::kTcp) return "";
  if (goal == PerfGoal::kThroughput) return "";
  const uint64_t bytes = size_at(seen.sizes(), 0.5);
  const double was = predicted_us(before, bytes, *seen.host.measured);
  const double is = predicted_us(after, bytes, *seen.host.measured);
  if (was == is) return "";
  return "; by measured costs, a call with messages of " + exact_size_text(bytes) + " takes " +
         time_text(is) + " in place of " + time_text(was);
}

// --- From findings to edits ----------------------------------------------------------------------

// Which sides a change is for.
enum class Sides : uint8_t { kClient, kServer, kBoth };

constexpr std::array<const char*, 3> kGroupNames = {"c_hint", "s_hint", "hint"};

Hints& group_of(HintGroups& groups, Sides sides) {
  if (sides == Sides::kBoth) return groups.both;
  return sides == Sides::kClient ? groups.client : groups.server;
}

Side first_side(Sides sides) { return sides == Sides::kServer ? Side::kServer : Side::kClient; }

// Proposes changes of one function's hints; see advise().
class Adviser {
 public:
  Adviser(const Route& route, const std::array<Observation, 2>& seen, const HostFacts& host)
      : route_(route), seen_(seen), host_(host), function_(route.hints) {}

  // Applies all rules once. Returns true if a rule proposed anything.
  bool apply_rules() {
    const size_t before = proposals_.size();
    for (const Rule& rule : kRules) apply(rule);
    return proposals_.size() != before;
  }
  std::vector<Proposal> take() && { return std::move(proposals_); }

 private:
  Hints hints(Side side) const { return effective(function_, route_.service_hints, side); }

  Seen seen(Side side) const {
    const Observation& own = seen_[static_cast<size_t>(side)];
    const Observation& other = seen_[1 - static_cast<size_t>(side)];
    return {side, hints(side), own.ended.calls >= other.ended.calls ? own.ended : other.ended, own,
            host_};
  }

  // Returns true if a change for both sides belongs into the group for both sides, because no
  // stronger group has the hint.
  bool both_in_one(std::string_view key) const {
    return !hint_value(function_.client, key) && !hint_value(function_.server, key);
  }

  void apply(const Rule& rule) {
    const Found client = rule.judge(seen(Side::kClient));
    const Found server = rule.judge(seen(Side::kServer));
    const bool client_alone = rule.key == "timeout_ms";  // has no meaning for servers
    const bool equal = client && server && client->to == server->to;
    if (client && (equal || client_alone) && both_in_one(rule.key)) {
      return propose(rule.key, Sides::kBoth, *client);
    }
    if (client) propose(rule.key, Sides::kClient, *client);
    if (server) propose(rule.key, Sides::kServer, *server);
  }

  // Returns the planner's choice for `key` in the words of the hint.
  std::string planned(std::string_view key, Side side) const {
    Hints free = hints(side);
    CHECK(clear_hint(free, key));
    const Plan plan = make_plan(free, host_);
    if (key == "polling") return std::string(kPollingWords[static_cast<size_t>(plan.polling)]);
    CHECK_EQ(key, "protocol") << "no other rule leaves its hint to the planner";
    const bool small = size_at(seen(side).sizes(), 0.99) <= plan.small_bytes_max;
    return std::string(engine::protocol(small ? plan.small : plan.large).name);
  }

  // Returns the function's hints after the change. Sets `to` to what the group then has.
  HintGroups changed(std::string_view key, Sides sides, std::optional<std::string>& to) const {
    HintGroups after = function_;
    Hints& group = group_of(after, sides);
    CHECK(clear_hint(group, key));
    const Side side = first_side(sides);
    if (!to && !hint_value(effective(after, route_.service_hints, side), key)) return after;
    if (!to) to = planned(key, side);  // a weaker group has the hint, too
    const auto set = set_hint(group, key, *to);
    CHECK(set.has_value()) << set.error().message;
    return after;
  }

  void propose(std::string_view key, Sides sides, const Finding& finding) {
    const Side side = first_side(sides);
    std::optional<std::string> to = finding.to;
    const std::optional<std::string> from = hint_value(hints(side), key);
    const HintGroups after = changed(key, sides, to);
    const Effect effect_before = effect_of(function_, route_.service_hints, host_);
    const Effect effect_after = effect_of(after, route_.service_hints, host_);
    if (same_effect(effect_before, effect_after)) return;
    const bool client = side == Side::kClient;
    proposals_.push_back(
        {side,
         {kGroupNames[static_cast<size_t>(sides)], std::string(key), from, to},
         finding.evidence,
         gain_text(effect_before, effect_after) +
             prediction_text(client ? effect_before.client : effect_before.server,
                             client ? effect_after.client : effect_after.server,
                             effective(after, route_.service_hints, side).perf_goal, seen(side))});
    function_ = after;
  }

  const Route& route_;
  const std::array<Observation, 2>& seen_;
  const HostFacts& host_;
  HintGroups function_;  // the function's hints with all proposals so far
  std::vector<Proposal> proposals_;
};

}  // namespace

std::vector<Proposal> advise(const Route& route, const std::array<Observation, 2>& seen,
                             const HostFacts& host) {
  if (!route.listed) return {};  // no function in the manifest could get the change
  // A change of one hint can give another hint an effect. No rule contradicts its own proposal, so
  // each round proposes less.
  constexpr int kRoundsMax = 3;
  Adviser adviser(route, seen, host);
  for (int round = 0; round < kRoundsMax && adviser.apply_rules(); ++round) {
  }
  return std::move(adviser).take();
}

}  // namespace hat
