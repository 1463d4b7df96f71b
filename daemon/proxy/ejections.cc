// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/ejections.h"

#include <algorithm>

namespace hat {

Ejections::Member* Ejections::find(std::string_view name) {
  const auto found = std::ranges::find(all_, name, &Member::name);
  return found == all_.end() ? nullptr : &*found;
}

const Ejections::Member* Ejections::find(std::string_view name) const {
  return const_cast<Ejections*>(this)->find(name);
}

// Returns the entry of `name`, and removes those that are out of date.
Ejections::Member& Ejections::member(std::string_view name, TimePoint now) {
  std::erase_if(all_, [&](const Member& one) { return one.last + kForget <= now; });
  Member* const known = find(name);
  Member& member = known != nullptr ? *known : all_.emplace_back(Member{.name = std::string(name)});
  member.last = now;
  return member;
}

Duration Ejections::eject(Member& member, TimePoint now) {
  if (member.state == State::kEjected && now < member.until) return Duration::zero();
  member.state = State::kEjected;
  member.failures = 0;
  member.length = std::clamp(2 * member.length, kFirst, kLongest);
  member.until = now + member.length;
  return member.length;
}

Duration Ejections::eject(std::string_view name, TimePoint now, std::string_view why) {
  Member& failing = member(name, now);
  failing.why = why;
  return eject(failing, now);
}

Duration Ejections::note_failure(std::string_view name, TimePoint began, TimePoint now,
                                 std::string_view why) {
  Member& failing = member(name, now);
  if (failing.failures != 0 && began < failing.last_failure) return Duration::zero();
  failing.last_failure = now;
  failing.why = why;
  if (++failing.failures < kFailuresInARow && failing.state != State::kTried) {
    return Duration::zero();
  }
  return eject(failing, now);
}

void Ejections::succeed(std::string_view name) {
  const auto one = std::ranges::find(all_, name, &Member::name);
  // A call that began before the ejection can still succeed.
  if (one != all_.end() && one->state != State::kEjected) all_.erase(one);
}

void Ejections::use(std::string_view name, TimePoint now) {
  Member* const one = find(name);
  if (one == nullptr) return;
  one->last = now;
  if (one->state == State::kUsed || now < one->until) return;
  one->state = State::kTried;
  one->failures = 0;
  one->until = now + kTrial;
}

bool Ejections::is_avoided(std::string_view name, TimePoint now) const {
  const Member* const one = find(name);
  return one != nullptr && one->state != State::kUsed && now < one->until;
}

std::optional<EjectionStatus> Ejections::status(std::string_view name, TimePoint now) const {
  const Member* const one = find(name);
  return one == nullptr ? std::nullopt : status_of(*one, now);
}

std::optional<EjectionStatus> Ejections::status_of(const Member& member, TimePoint now) {
  using Now = EjectionStatus::State;
  if (member.last + kForget <= now) return std::nullopt;
  EjectionStatus status{.failures = member.failures, .why = member.why};
  if (member.state == State::kUsed) return status;
  status.state = now >= member.until               ? Now::kDue
                 : member.state == State::kEjected ? Now::kEjected
                                                   : Now::kTried;
  status.left = std::max<Duration>(member.until - now, Duration::zero());
  return status;
}

bool Ejections::is_ejected(std::string_view name, TimePoint now) const {
  const Member* const one = find(name);
  return one != nullptr && one->state == State::kEjected && now < one->until;
}

}  // namespace hat
