// SPDX-License-Identifier: Apache-2.0
// engine/costs/measure.h: measures the component costs between two connected hosts: the times of an
// RDMA write (PUT), an RDMA read (GET), an atomic operation, a message and its answer, a copy in
// memory, a memory registration, and the wake-up of a sleeping thread; and the times of calls, of
// many callers at once (config/component_costs.h).
//
//   measuring side                                  the other side
//   auto initiator = Initiator::create(fabric, …);  auto target = Target::create(fabric, …);
//   … the two sides exchange their cards, which hold the addresses to connect to (target.h) …
//   auto costs = measure_costs(*initiator, {});     answer_costs(*target, std::chrono::minutes(1));
//
// The measuring side controls the measurement: its messages request the other side to poll, to
// sleep, or to finish. The measurement overwrites the target's memory.
//
// Thread   Each side blocks the thread that owns the fabric, so use a thread without other work.
// Errors   An error is a sentence with the operation that failed and the error of the fabric. It is
//          not an error if the fabric refuses to register memory of some size: the result then has
//          only the costs of the smaller sizes. Nor is it an error if calls cannot be measured:
//          ComponentCosts::no_calls then has the reason.
#pragma once

#include <chrono>
#include <stop_token>
#include <vector>

#include "base/result.h"
#include "engine/costs/cost_curve.h"
#include "engine/costs/initiator.h"

namespace hat::engine {

struct MeasureOptions {
  // The sizes in bytes to measure. A size is skipped if it is larger than the target's memory, than
  // Initiator::local() or than the largest message.
  std::vector<uint32_t> transfer_bytes = {8, 64, 512, 4096, 16384, 65536, 262144, 1048576};
  std::vector<uint32_t> message_bytes = {8, 64, 512, 4096, 16384, 65536};
  // The sizes of memory to register. The first size that the fabric refuses to register ends the
  // measurement of registrations.
  std::vector<uint32_t> registration_bytes = {4096, 65536, 1 << 20};
  std::vector<uint32_t> copy_bytes = {64, 512, 4096, 16384, 65536, 262144, 1048576};
  // The sizes of the calls of many callers, at most EchoLanes::kBytesMax. If there are any, the
  // initiator's messages must have space for an EchoLanes::Offers.
  std::vector<uint32_t> call_bytes = {8192, 65536};
  // The approximate time to spend on each operation and size; for calls, about eight times as long
  // for each size and kind of replies. If nine samples take longer, the
  // measurement continues for up to ten times `each`; after that time, three samples are enough.
  std::chrono::nanoseconds each = std::chrono::milliseconds(50);
  std::stop_token stop{};  // checked before the measurement of each operation and size
};

// Measures the costs between the initiator and its target, and returns them.
Result<ComponentCosts> measure_costs(Initiator& initiator, const MeasureOptions& options);

// Answers the measuring side until it has finished. Returns an error if the measuring side goes
// away or sends nothing for `patience`, or within 100 ms after a stop request.
Result<void> answer_costs(Target& target, std::chrono::nanoseconds patience,
                          const std::stop_token& stop = {});

}  // namespace hat::engine
