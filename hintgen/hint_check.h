// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_check.h: reads the hints of services and functions, in both spellings.
//
//   hint: perf_goal=latency;     is   hat.perf_goal = "latency"
//   c_hint: payload_size=128;    is   hat.client.payload_size = "128"
//   s_hint: polling=busy;        is   hat.server.polling = "busy"
//
// Keys and values: config/hint_values.h. It is an error if one service or function sets the same
// hint twice to different values.
#pragma once

#include "config/diagnostics.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// Sets `hints` of every service and function of every file.
void read_hints(Idl& idl, Diagnostics& diagnostics);

}  // namespace hat::hintgen
