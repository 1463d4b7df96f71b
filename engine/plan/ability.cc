// SPDX-License-Identifier: Apache-2.0
#include "engine/plan/ability.h"

#include <algorithm>
#include <array>

namespace hat::engine {
namespace {

constexpr std::array kInPlace = {*find_protocol("direct_write_imm"), *find_protocol("eager")};

// Returns the set of legs that the protocol `id` needs, including the leg for messages that are too
// large for a slot.
uint32_t legs_of(ProtocolId id) {
  const Protocol& one = protocol(id);
  return bit_of(one.request) | bit_of(one.response) | bit_of(one.beyond);
}

bool can(const Ability& ability, ProtocolId id) { return (legs_of(id) & ~ability.legs) == 0; }

// Returns `id` if `ability` includes all legs of that protocol. Otherwise returns the first
// protocol in kInPlace (the replacements) whose legs `ability` includes, or else nullopt.
std::optional<ProtocolId> in_place_of(ProtocolId id, const Ability& ability) {
  if (can(ability, id)) return id;
  const auto found =
      std::ranges::find_if(kInPlace, [&](ProtocolId other) { return can(ability, other); });
  return found == kInPlace.end() ? std::nullopt : std::optional(*found);
}

std::string names(ProtocolId small, ProtocolId large) {
  const std::string first(protocol(small).name);
  return small == large ? first : first + " and " + std::string(protocol(large).name);
}

}  // namespace

Plan bounded(Plan plan, const Ability& ability) {
  if (plan.path != Path::kRdma) return plan;
  const auto small = in_place_of(plan.small, ability);
  const auto large = in_place_of(plan.large, ability);
  if (!small || !large) {
    plan.path = Path::kTcp;
    plan.reason += "; TCP carries the calls: " + ability.who + " has " +
                   (ability.legs == 0 ? "no RDMA lanes" : "none of the legs that the calls need");
    return plan;
  }
  if (*small != plan.small || *large != plan.large) {
    plan.reason += "; " + ability.who + " does not support " + names(plan.small, plan.large) +
                   ": " + names(*small, *large) + " is used instead";
    plan.small = *small;
    plan.large = *large;
  }
  if (plan.slot_bytes > ability.slot_bytes_max) {
    plan.slot_bytes = ability.slot_bytes_max;
    plan.reason += "; " + ability.who + " has slots of at most " + std::to_string(plan.slot_bytes) +
                   " bytes: larger messages use rendezvous";
  }
  return plan;
}

}  // namespace hat::engine
