// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/idle_hints.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "config/hint_values.h"

namespace hat::engine {
namespace {

// Clears one hint of `hints`. Returns false if `hints` does not have it.
template <auto kMember>
bool clear_hint(Hints& hints) {
  return std::exchange(hints.*kMember, std::nullopt).has_value();
}

struct Key {
  std::string_view name;  // as hint_words() spells it
  bool (*clear)(Hints& hints);
};

constexpr std::array kKeys = {
    Key{"perf_goal", clear_hint<&Hints::perf_goal>},
    Key{"concurrency", clear_hint<&Hints::concurrency>},
    Key{"payload_size", clear_hint<&Hints::payload_bytes>},
    Key{"polling", clear_hint<&Hints::polling>},
    Key{"protocol", clear_hint<&Hints::protocol>},
    Key{"transport", clear_hint<&Hints::transport>},
    Key{"plan", clear_hint<&Hints::plan>},
    Key{"numa", clear_hint<&Hints::numa>},
    Key{"priority", clear_hint<&Hints::priority>},
    Key{"timeout_ms", clear_hint<&Hints::timeout>},
    Key{"idempotent", clear_hint<&Hints::idempotent>},
};

// Clears the hint in the group that decides its value for `side`, so that a weaker group may
// decide. Returns false if no group has the hint.
bool clear_deciding(const Key& key, HintGroups& function, HintGroups& service, Side side) {
  for (HintGroups* groups : {&function, &service}) {
    if (key.clear(side == Side::kClient ? groups->client : groups->server)) return true;
    if (key.clear(groups->both)) return true;
  }
  return false;
}

// Returns true if two plans that differ in no other member carry calls by RDMA in the same way.
bool same_on_rdma(const Plan& one, const Plan& other) {
  return one.small == other.small && one.large == other.large &&
         one.small_bytes_max == other.small_bytes_max && one.latency == other.latency &&
         one.slot_bytes == other.slot_bytes;
}

// Returns true if the daemon carries calls by both plans in the same way. The members `timeout`,
// `idempotent` and `learned` do not count: only those of the client's side have an effect, which
// idle_hints() compares.
bool carries_alike(const Plan& one, const Plan& other) {
  return one.path == other.path && one.tcp_wanted == other.tcp_wanted &&
         one.polling == other.polling && one.numa == other.numa && one.priority == other.priority &&
         (one.path == Path::kTcp || same_on_rdma(one, other));
}

// Returns true if the hint decides which choices a learned plan has, or what counts as their cost,
// even if the plan that it begins with is the same without the hint.
bool limits_learning(std::string_view key) {
  return key == "perf_goal" || key == "polling" || key == "protocol" || key == "transport";
}

constexpr const char* kSamePlan = "the plan is the same without it";

// Returns true if the hint concurrency would change the plan without the hints protocol (if
// `protocol` is true) and polling (if `polling` is true). `without` are the hints that hold without
// concurrency.
bool would_count(Hints hints, Hints without, const HostFacts& host, bool protocol, bool polling) {
  for (Hints* one : {&hints, &without}) {
    if (protocol) one->protocol.reset();
    if (polling) one->polling.reset();
  }
  const Plan plan = make_plan(hints, host);
  const Plan plan_without = make_plan(without, host);
  return plan.polling != plan_without.polling || !same_on_rdma(plan, plan_without);
}

// Returns why the hint concurrency changes nothing. `without` are the hints that hold without it.
std::string why_concurrency(const Hints& hints, const Hints& without, const HostFacts& host) {
  const Subscription column = subscription(hints.concurrency, host.core_counts());
  if (!without.concurrency && column == Subscription::kUnder) {
    return "it selects the column under, which also applies without the hint";
  }
  if (column == subscription(without.concurrency, host.core_counts())) return kSamePlan;
  if (would_count(hints, without, host, false, true)) {
    return "the hint polling overrides the table here";
  }
  if (would_count(hints, without, host, true, false)) {
    return "the hint protocol overrides the table here";
  }
  if (would_count(hints, without, host, true, true)) {
    return "the hints protocol and polling override the table here";
  }
  if (!hints.perf_goal) return "without perf_goal, all columns have the same plan";
  return "the column that it selects has the same plan as the column without it";
}

std::string why_tcp(const Plan& plan, const HostFacts& host) {
  return "TCP carries the calls" +
         (plan.tcp_wanted ? " because of the hint transport: tcp" : ": " + host.rdma_absent_reason);
}

std::string why_not_learned(const Plan& plan, const HostFacts& host) {
  if (plan.path == Path::kTcp) return why_tcp(plan, host);
  return "the hints protocol and polling leave no other choice";
}

std::string why_idle(std::string_view key, const Hints& hints, const Hints& without,
                     const HostFacts& host) {
  const Plan plan = make_plan(hints, host);
  const Plan plan_without = make_plan(without, host);
  if (plan.idempotent != plan_without.idempotent) {
    return "only the client's side sends calls again";
  }
  if (plan.timeout != plan_without.timeout) {
    return "only the client's side has a timeout";
  }
  if (key == "plan" && hints.plan == PlanSource::kLearned) {
    return plan.learned ? "only the client's side learns" : why_not_learned(plan, host);
  }
  if (!same_on_rdma(plan, plan_without)) return why_tcp(plan, host);
  return key == "concurrency" ? why_concurrency(hints, without, host) : kSamePlan;
}

}  // namespace

std::vector<IdleHint> idle_hints(const HintGroups& function, const HintGroups& service, Side side,
                                 const HostFacts& host, std::span<const CoreCounts> servers) {
  const auto plans = [&](const HintGroups& of_function, const HintGroups& of_service) {
    const Hints of_server = effective(of_function, of_service, Side::kServer);
    std::vector<Plan> all = {make_plan(effective(of_function, of_service, Side::kClient), host),
                             make_plan(of_server, host)};
    for (const CoreCounts& cores : servers) all.push_back(make_plan(of_server, host.with(cores)));
    return all;
  };
  const Hints hints = effective(function, service, side);
  const auto words = hint_words(hints);
  const std::vector<Plan> with = plans(function, service);
  std::vector<IdleHint> idle;
  for (const Key& key : kKeys) {
    HintGroups of_function = function;
    HintGroups of_service = service;
    if (!clear_deciding(key, of_function, of_service, side)) continue;
    if (with.front().learned && limits_learning(key.name)) continue;
    const std::vector<Plan> without = plans(of_function, of_service);
    const bool same_client = with.front().timeout == without.front().timeout &&
                             with.front().idempotent == without.front().idempotent &&
                             with.front().learned == without.front().learned;
    if (!same_client || !std::ranges::equal(with, without, carries_alike)) continue;
    const auto said = std::ranges::find(words, key.name, [](const auto& one) { return one.first; });
    idle.push_back({said->first + ": " + said->second,
                    why_idle(key.name, hints, effective(of_function, of_service, side), host)});
  }
  return idle;
}

}  // namespace hat::engine
