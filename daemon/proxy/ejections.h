// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/ejections.h: the members of a group that are avoided for a while, because they have
// failed: the peers of an endpoint, or the addresses of a local server.
//
// An ejected member is used only if no other one is left. When the time of the ejection is over,
// the next use is a trial: until it succeeds, only one user in each kTrial uses the member. If a
// trial fails, the next ejection lasts twice as long as the one before, from kFirst up to kLongest.
// A member that has succeeded, or that was not used for kForget, is as if it had never failed.
//
// The idea is that of Envoy's outlier detection, in which an ejected host gets no trial.
//
// Bounds   one entry for each member that has failed and not succeeded within kForget
// Thread   the worker's.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/reactor.h"

namespace hat {

// The state of a member that has failed, for hatctl.
struct EjectionStatus {
  enum class State : uint8_t {
    kFailing,  // it is used, and its last uses have failed
    kEjected,  // it is used only if no other member is left
    kDue,      // the time of the ejection is over; the next use is a trial
    kTried,    // a trial is running
  };
  // Returns true if calls prefer other members.
  bool is_avoided() const { return state == State::kEjected || state == State::kTried; }

  State state = State::kFailing;
  Duration left{};        // until the end of the ejection, or until another user may try
  uint32_t failures = 0;  // in a row, if kFailing
  std::string_view why;   // the last failure's token, or empty
};

class Ejections {
 public:
  static constexpr Duration kFirst = std::chrono::seconds(1);
  static constexpr Duration kLongest = std::chrono::seconds(30);
  static constexpr Duration kTrial = std::chrono::seconds(1);
  static constexpr Duration kForget = std::chrono::seconds(60);
  static constexpr uint32_t kFailuresInARow = 3;

  // Returns true if no member has failed.
  bool empty() const { return all_.empty(); }
  // Records that `name` can serve nobody at present, and ejects it. Returns for how long; returns
  // zero if it is ejected already. `why` names the failure for status(); the text must be static.
  Duration eject(std::string_view name, TimePoint now, std::string_view why = {});
  // Records a failure, which can have other causes than the member, of a use that began at `began`.
  // Uses that were running when the last failure occurred do not count. Ejects `name` if this was a
  // trial, or the last of kFailuresInARow failures. Returns what eject() returns.
  Duration note_failure(std::string_view name, TimePoint began, TimePoint now,
                        std::string_view why = {});
  void note_success(std::string_view name) {
    if (!all_.empty()) succeed(name);
  }
  // Records that `name` begins to be used, which can be a trial.
  void note_use(std::string_view name, TimePoint now) {
    if (!all_.empty()) use(name, now);
  }
  // Returns true if others should be preferred to `name`: it is ejected, or another user tries it.
  bool avoids(std::string_view name, TimePoint now) const {
    return !all_.empty() && is_avoided(name, now);
  }
  // Returns true if the ejection of `name` has not ended.
  bool ejects(std::string_view name, TimePoint now) const {
    return !all_.empty() && is_ejected(name, now);
  }
  // Returns the state of `name`; nullopt if it is as if it had never failed.
  std::optional<EjectionStatus> status(std::string_view name, TimePoint now) const;
  // Calls use(name, status) for each member that has failed. Both arguments are valid only during
  // the call.
  template <class Use>
  void for_each(TimePoint now, Use use) const {
    for (const Member& one : all_) {
      if (const auto status = status_of(one, now)) use(std::string_view(one.name), *status);
    }
  }

 private:
  //   kUsed ──▶ kEjected ──note_use()──▶ kTried ──success──▶ (no entry)
  //                   ◀────── failure ─────┘
  enum class State : uint8_t {
    kUsed,     // by everybody
    kEjected,  // by nobody before `until`
    kTried,    // by one user before `until`, and then by another one
  };
  struct Member {
    std::string name;
    State state = State::kUsed;
    uint32_t failures = 0;     // since the last ejection
    TimePoint last_failure{};  // of those
    Duration length{0};        // of the last ejection
    TimePoint until{};
    TimePoint last{};        // the last failure or use
    std::string_view why{};  // the last failure
  };

  Member& member(std::string_view name, TimePoint now);
  Member* find(std::string_view name);
  const Member* find(std::string_view name) const;
  static Duration eject(Member& member, TimePoint now);
  static std::optional<EjectionStatus> status_of(const Member& member, TimePoint now);
  void succeed(std::string_view name);
  void use(std::string_view name, TimePoint now);
  bool is_avoided(std::string_view name, TimePoint now) const;
  bool is_ejected(std::string_view name, TimePoint now) const;

  std::vector<Member> all_;
};

}  // namespace hat
