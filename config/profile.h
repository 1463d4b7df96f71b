// SPDX-License-Identifier: Apache-2.0
// config/profile.h: what this host's fabric was measured to cost, as `hatctl calibrate` writes it
// and the planner uses it (`profile` in the node's configuration).
//
//   hatrpc_profile: 1
//   node: host-a
//   peer: host-b
//   fabric: loop
//   device: "loop: memory shared with peers on this host"
//   measured: "2026-11-22T12:00:00Z"
//   costs_ns:
//     put: {8: 61.2, 4096: 310.5}
//     get: {8: 60.9, 4096: 305}
//     message: {8: 800, 4096: 1400}
//     copy: {64: 8, 4096: 190}
//     registration: {4096: 9000}
//     compare_swap: 70.1
//     fetch_add: 70.4
//     wake_up: 5300
//
// Required: hatrpc_profile, fabric, and of costs_ns put, get, message, copy and wake_up. A size's
// cost is config/component_costs.h's; sizes rise.
#pragma once

#include <string>

#include "config/component_costs.h"
#include "config/mistakes.h"

namespace hat {

struct Profile {
  std::string node;      // who measured
  std::string peer;      // with whom
  std::string device;    // in words
  std::string measured;  // when, ISO 8601
  ComponentCosts costs;
};

// Reads one file's text. Every mistake goes to `mistakes`; the result is meaningful if none was
// added.
Profile read_profile(const std::string& text, const std::string& file, Mistakes& mistakes);

// read_profile() of a file's contents; one that cannot be read is a mistake.
Profile load_profile(const std::string& file, Mistakes& mistakes);

// The text that read_profile() reads back, to a tenth of a nanosecond.
std::string write_profile(const Profile& profile);

}  // namespace hat
