// SPDX-License-Identifier: Apache-2.0
// engine/plan/idle_hints.h: finds hints of a function that change nothing in how hatrpcd carries
// its calls on a host, such as a concurrency that leads to the same plan as none. A server may also
// read hints (HatKV does); this file does not know what they change there. Pure: no I/O and no
// state.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "config/hints.h"
#include "engine/plan/planner.h"

namespace hat::engine {

struct IdleHint {
  std::string hint;  // key and value, for example "concurrency: 8"
  std::string why;   // why the hint changes nothing on the host

  friend bool operator==(const IdleHint&, const IdleHint&) = default;
};

// Returns hints that apply to one side of a function and change nothing on `host`: without the
// hint, the calls of the function would be carried in the same way. Each hint is judged alone, with
// all others in place: of two idle hints, one may have an effect once the other is removed. Two
// values of payload_size that lead to lanes of equal size count as different. A hint for both sides
// must change nothing on either side. `function` and `service` are the hints of the function and
// of its service. `servers` are the cores of other hosts that reply to clients on `host`: a hint
// that changes how one of them replies is not idle.
std::vector<IdleHint> idle_hints(const HintGroups& function, const HintGroups& service, Side side,
                                 const HostFacts& host, std::span<const CoreCounts> servers = {});

}  // namespace hat::engine
