// SPDX-License-Identifier: Apache-2.0
// engine/fabric/faulty/faulty_fabric.h: adds faults to any fabric, chosen by a seed: for our tests,
// and for users who want to test their fail-over.
//
//   delay     poll() returns completions late, but in order
//   refusal   registering memory and creating queues or queue pairs fails now and then
//   cut       a queue pair breaks: its oldest outstanding request fails, all later ones are flushed
//   silence   a queue pair takes requests, but no request takes effect or completes, as if the
//             peer's host had just died; fail() completes the requests as kFlushed
//
// The guarantees of every fabric also hold here, even with delays and failures: nothing is
// reordered, repeated or changed, and every signaled request completes once, unless its queue pair
// is silent. Every consumed receive completes once: those of a silent queue pair complete as
// kFlushed when it is failed or destroyed.
//
// Thread   As for the fabric to which the faults are added.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/fabric/fabric.h"

namespace hat::engine {

struct Faults {
  uint64_t seed = 1;
  std::chrono::nanoseconds delay_max{};  // the delay of a completion is less than delay_max
  uint32_t refused_percent = 0;          // the share of registrations and creations that fail
  // For each queue pair, the seed chooses a number n from 1 to this value. The queue pair breaks
  // after n requests (cut_within), or is silent after n requests (silent_within). 0 means never.
  uint64_t cut_within = 0;
  uint64_t silent_within = 0;
};

std::unique_ptr<Fabric> make_faulty(std::unique_ptr<Fabric> fabric, const Faults& faults);

}  // namespace hat::engine
