// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_check.h: reads the hints of services and functions, in both spellings.
//
//   hint: perf_goal=latency;     is   hat.perf_goal = "latency"
//   c_hint: payload_size=128;    is   hat.client.payload_size = "128"
//   s_hint: polling=busy;        is   hat.server.polling = "busy"
//
// Keys and values: config/hint_values.h. Saying the same hint twice on one service or function is a
// mistake unless both times say the same.
#pragma once

#include "config/mistakes.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// Fills the `hints` of every service and function of every file.
void read_hints(Idl& idl, Mistakes& mistakes);

}  // namespace hat::hintgen
