// SPDX-License-Identifier: Apache-2.0
// engine/costs/measure.h: measures the component costs between two hosts that are connected.
//
//   measuring side                                   the other side
//   auto initiator = Initiator::create(fabric, …);   auto target = Target::create(fabric, …);
//   … cards to and fro (initiator.h, target.h) …
//   auto costs = measure_costs(*initiator, {});      answer_costs(*target,
//   std::chrono::minutes(1));
//
// The measuring side leads: it tells by messages when the other is to sleep, and when all is done.
//
// Thread   each side blocks its thread, which owns the fabric: no thread that has other work.
// Errors   sentences: which component, and what the fabric said. Memory that cannot be registered
//          is none: the sizes before it are there. The other side's memory is overwritten.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "engine/costs/cost_curve.h"
#include "engine/costs/initiator.h"

namespace hat::engine {

struct MeasureOptions {
  // Sizes that do not fit the target's memory, local() or a message are left out.
  std::vector<uint32_t> transfer_bytes = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
  std::vector<uint32_t> message_bytes = {8, 64, 512, 4096, 16384, 65536};
  std::vector<uint32_t> registration_bytes = {4096, 65536, 1 << 20};  // until one is refused
  std::vector<uint32_t> copy_bytes = {64, 512, 4096, 16384, 65536, 262144, 1048576};
  // For each component and size, about; ten times as much where nine samples take longer.
  std::chrono::nanoseconds each = std::chrono::milliseconds(50);
  std::stop_token stop{};  // looked at before each component and size
};

Result<ComponentCosts> measure_costs(Initiator& initiator, const MeasureOptions& options);

// Answers until the measuring side is done. Error: nobody has said anything for `patience`, or it
// was told to stop (within 100 ms).
Result<void> answer_costs(Target& target, std::chrono::nanoseconds patience,
                          const std::stop_token& stop = {});

}  // namespace hat::engine
