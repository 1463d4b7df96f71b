// SPDX-License-Identifier: Apache-2.0
// config/learned_choices.h: reads and writes the file in which hatrpcd keeps what it has learned
// about functions with the hint `plan: learned`, so that a restart does not lose it. For example:
//
//   hatrpc_learned: 1
//   choices:
//     host-b:
//       HatKV:
//         get: "rfp, busy"
//
// The function `get` of the service HatKV uses the choice "rfp, busy" for calls to the peer host-b.
// Functions that use the plan of their hints are not in the file.
#pragma once

#include <compare>
#include <map>
#include <string>

#include "config/diagnostics.h"

namespace hat {

// A function whose calls go to this peer.
struct LearnedFunction {
  std::string peer;
  std::string service;
  std::string method;

  auto operator<=>(const LearnedFunction&) const = default;
};
// The names of choices, as LearnedPlan::name() (daemon/routing) returns them.
using LearnedChoices = std::map<LearnedFunction, std::string>;

// Reads choices from `text`, the contents of `file`. Adds every error in the text to `diagnostics`.
// Use the result only if no error was added.
LearnedChoices read_learned_choices(const std::string& text, const std::string& file,
                                    Diagnostics& diagnostics);

// Returns the choices as text, which read_learned_choices() can read.
std::string write_learned_choices(const LearnedChoices& choices);

}  // namespace hat
