// SPDX-License-Identifier: Apache-2.0
// engine/costs/measure.h: measures the component costs between two hosts that are connected: the
// times of a PUT, a GET, an atomic, a message, a copy, a registration and a wake-up
// (config/component_costs.h).
//
//   measuring side                                  the other side
//   auto initiator = Initiator::create(fabric, …);  auto target = Target::create(fabric, …);
//   … exchange of the cards (initiator.h, target.h) …
//   auto costs = measure_costs(*initiator, {});     answer_costs(*target, std::chrono::minutes(1));
//
// The measuring side leads: its messages say when the other side sleeps, and when everything is
// done. The measurement overwrites the target's memory.
//
// Thread   each side blocks its thread, which owns the fabric; use a thread that has no other work.
// Errors   sentences: which component, and what the fabric reported. It is not an error if the
//          fabric refuses to register memory: the result has the sizes before that one.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "engine/costs/cost_curve.h"
#include "engine/costs/initiator.h"

namespace hat::engine {

struct MeasureOptions {
  // Sizes that exceed the target's memory, local() or a message are left out.
  std::vector<uint32_t> transfer_bytes = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
  std::vector<uint32_t> message_bytes = {8, 64, 512, 4096, 16384, 65536};
  std::vector<uint32_t> registration_bytes = {4096, 65536, 1 << 20};  // until one is refused
  std::vector<uint32_t> copy_bytes = {64, 512, 4096, 16384, 65536, 262144, 1048576};
  // The approximate time spent on each component and size. If nine samples take longer, it takes up
  // to ten times as long, and after that three samples are enough.
  std::chrono::nanoseconds each = std::chrono::milliseconds(50);
  std::stop_token stop{};  // checked before each component and size
};

Result<ComponentCosts> measure_costs(Initiator& initiator, const MeasureOptions& options);

// Answers until the measuring side is done. Fails if that side goes away or is silent for
// `patience`, and within 100 ms of a stop request.
Result<void> answer_costs(Target& target, std::chrono::nanoseconds patience,
                          const std::stop_token& stop = {});

}  // namespace hat::engine
