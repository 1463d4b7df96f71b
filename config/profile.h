// SPDX-License-Identifier: Apache-2.0
// config/profile.h: the measured costs of this host's fabric. `hatctl calibrate` writes the file,
// and the planner uses it (`profile` in the node configuration).
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
// Required: hatrpc_profile, fabric, and under costs_ns: put, get, message, copy and wake_up.
// config/component_costs.h defines the cost of each size; sizes must increase.
#pragma once

#include <string>

#include "config/component_costs.h"
#include "config/diagnostics.h"

namespace hat {

struct Profile {
  std::string node;      // the node that measured
  std::string peer;      // the other node
  std::string device;    // a description
  std::string measured;  // time, ISO 8601
  ComponentCosts costs;
};

// Reads the text of one file. Adds every error found to `mistakes`; the result is meaningful if
// none was added.
Profile read_profile(const std::string& text, const std::string& file, Diagnostics& diagnostics);

// Reads a file and calls read_profile(). It is an error if the file cannot be read.
Profile load_profile(const std::string& file, Diagnostics& diagnostics);

// Returns the text that read_profile() reads back, with costs rounded to a tenth of a nanosecond.
std::string write_profile(const Profile& profile);

}  // namespace hat
