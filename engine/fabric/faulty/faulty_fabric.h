// SPDX-License-Identifier: Apache-2.0
// engine/fabric/faulty/faulty_fabric.h: adds faults to any fabric, chosen by a seed: for our tests,
// and for users who want to test their fail-over.
//
//   delay     poll() returns completions late, but in order
//   refusal   registering memory and creating queues or queue pairs fails now and then
//   cut       a queue pair breaks: its oldest outstanding request fails, all later ones are flushed
//   silence   a queue pair still takes requests, but none takes effect and nothing completes, as if
//             the peer's kernel had died and the retries had not run out; fail() flushes them
//
// The guarantees of every fabric also hold here, even with delays and failures: nothing is
// reordered, repeated or changed, and every signaled request completes once, unless its queue pair
// is silent.
//
// Thread   as for the fabric that it wraps.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/fabric/fabric.h"

namespace hat::engine {

struct Faults {
  uint64_t seed = 1;
  std::chrono::nanoseconds delay_max{};  // each completion is late by less than this
  uint32_t refused_percent = 0;          // share of registrations and creations that fail
  // For each queue pair, the seed chooses a number n from 1 to this value. The queue pair breaks
  // after n requests (cut_within), or is silent after n requests (silent_within). 0 means never.
  uint64_t cut_within = 0;
  uint64_t silent_within = 0;
};

std::unique_ptr<Fabric> make_faulty(std::unique_ptr<Fabric> fabric, const Faults& faults);

}  // namespace hat::engine
