// SPDX-License-Identifier: Apache-2.0
// bench/engine/measure.h: the measurements of the program engine_bench. Each measurement prints one
// line of JSON.
#pragma once

#include <string>

#include "bench/model/hardware.h"
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
  // Only for the fabric "model":
  model::Hardware hardware = *model::find_hardware("skylake-connectx5");
  std::string times;          // the cost of `hardware` that was multiplied, such as doorbell=2
  uint32_t client_hosts = 9;  // at most as many as clients
};

void measure_calls(const Settings& settings);
void measure_oneway(const Settings& settings);
// Measures calls, or messages in one direction, in virtual time on modelled hosts, with a thread
// for each lane.
void model_calls(const Settings& settings);
void model_oneway(const Settings& settings);
void measure_flag(const Settings& settings);
void measure_memcpy(const Settings& settings);
void measure_costs(const Settings& settings);
void measure_peers(const Settings& settings);

}  // namespace hat::bench
