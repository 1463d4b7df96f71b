// SPDX-License-Identifier: Apache-2.0
// bench/engine/measure.h: the measurements of the program engine_bench. Each measurement prints one
// line of JSON.
#pragma once

#include <string>

#include "config/hints.h"
#include "engine/protocols.h"

namespace hat::bench {

struct Settings {
  std::string fabric = "loop";
  const engine::Protocol* protocol = &engine::protocol(*engine::find_protocol("direct_write_imm"));
  size_t bytes = 64;
  uint32_t clients = 1;
  Polling polling = Polling::kBusy;
  double seconds = 1;
  bool confirm_each = false;
  bool zero_copy = false;
};

void measure_calls(const Settings& settings);
void measure_oneway(const Settings& settings);
void measure_flag(const Settings& settings);
void measure_memcpy(const Settings& settings);
void measure_costs(const Settings& settings);
void measure_peers(const Settings& settings);

}  // namespace hat::bench
