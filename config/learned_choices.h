// SPDX-License-Identifier: Apache-2.0
// config/learned_choices.h: reads and writes the file in which hatrpcd keeps what it has learned
// about functions with the hint `plan: learned`, so that a restart does not lose it. For example:
//
//   hatrpc_learned: 1
//   node: host-a
//   choices:
//     host-b:
//       HatKV:
//         get: "rfp, busy (latency)"
//
// For calls to the peer host-b, the function `get` of the service HatKV uses the choice
// "rfp, busy", which was learned while its hint perf_goal was latency. Functions that use the plan
// of their hints are not in the file.
#pragma once

#include <compare>
#include <map>
#include <string>
#include <string_view>

#include "config/diagnostics.h"

namespace hat {

// A function whose calls go to this peer.
struct LearnedFunction {
  std::string peer;
  std::string service;
  std::string method;

  auto operator<=>(const LearnedFunction&) const = default;
};
// The names of choices, as LearnedPlan::kept_name() (daemon/routing) returns them.
using LearnedChoices = std::map<LearnedFunction, std::string>;

struct KeptChoices {
  std::string node;  // the node that learned
  LearnedChoices choices;

  friend bool operator==(const KeptChoices&, const KeptChoices&) = default;
};

// Reads choices from `text`, the contents of `file`. Adds every error in the text to `diagnostics`.
// Use the result only if no error was added.
KeptChoices read_kept_choices(const std::string& text, const std::string& file,
                              Diagnostics& diagnostics);

// Returns true if the text is empty, or is that of a file of learned choices, with or without
// errors.
bool may_be_kept_choices(std::string_view text);

// Returns the choices as text, which read_kept_choices() can read.
std::string write_kept_choices(const KeptChoices& kept);

}  // namespace hat
