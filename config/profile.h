// SPDX-License-Identifier: Apache-2.0
// config/profile.h: reads and writes profiles. A profile is a file with the measured costs of RDMA
// operations between a host and a peer. `hatctl calibrate` writes the file; the planner uses the
// files that the keys `profile` and `peers.NAME.profile` of the node configuration name. For
// example:
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
//     pushed_calls: {8192: 10100, 65536: 15200}
//     fetched_calls: {8192: 10000, 65536: 25400}
//     compare_swap: 70.1
//     fetch_add: 70.4
//     wake_up: 5300
//
// These keys are required: hatrpc_profile, fabric, and under costs_ns the keys put, get, message,
// copy and wake_up. pushed_calls and fetched_calls have the same sizes, or are both absent. A cost
// such as `4096: 310.5` means that the operation takes 310.5 ns for 4096 bytes
// (config/component_costs.h). The sizes of an operation must be in ascending order.
#pragma once

#include <string>

#include "config/component_costs.h"
#include "config/diagnostics.h"

namespace hat {

struct Profile {
  std::string node;      // the node that measured
  std::string peer;      // the other node
  std::string device;    // a description of the device
  std::string measured;  // the time of the measurement, in the form of ISO 8601
  ComponentCosts costs;
};

// A profile that a node configuration names.
struct NamedProfile {
  std::string file;
  std::string peer;  // whose own profile it is; empty: that of all peers without one
  Profile profile;
};

// Reads a profile from `text`, the contents of `file`. Adds every error in the text to
// `diagnostics`. Use the result only if no error was added.
Profile read_profile(const std::string& text, const std::string& file, Diagnostics& diagnostics);

// Reads a file and calls read_profile(). It is an error if the file cannot be read.
Profile load_profile(const std::string& file, Diagnostics& diagnostics);

// Returns the profile as text, which read_profile() can read. Costs are rounded to a tenth of a
// nanosecond.
std::string write_profile(const Profile& profile);

}  // namespace hat
