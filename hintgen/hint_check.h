// SPDX-License-Identifier: Apache-2.0
// hintgen/hint_check.h: reads the hints of services and functions. A hint has two spellings, the
// grammar of the HatRPC paper (left) and Thrift annotations (right):
//
//   hint: perf_goal=latency;     is   hat.perf_goal = "latency"
//   c_hint: payload_size=128;    is   hat.client.payload_size = "128"
//   s_hint: polling=busy;        is   hat.server.polling = "busy"
//
// config/hint_values.h checks keys and values. It is an error if one service or function sets the
// same hint twice, to different values.
#pragma once

#include "config/diagnostics.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// Sets the member `hints` of every service and every function in all files of `idl`.
void read_hints(Idl& idl, Diagnostics& diagnostics);

}  // namespace hat::hintgen
