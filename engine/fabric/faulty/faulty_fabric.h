// SPDX-License-Identifier: Apache-2.0
// engine/fabric/faulty/faulty_fabric.h: any fabric, with faults made from a seed: for tests here,
// and for users who want to see what their fail-over does.
//
//   delay     completions are told late, in their order
//   refusal   memory, queues and queue pairs are not to be had now and then
//   cut       a queue pair breaks: its next request fails, all others are flushed
//   silence   a queue pair takes requests and nothing happens any more, as with a peer whose kernel
//             died before any retry ran out; fail() flushes them
//
// What must hold on every fabric holds on this one too, late or broken: nothing is reordered,
// repeated or changed, and every signaled request completes once, unless its queue pair is silent.
//
// Thread   as the fabric below.
#pragma once

#include <cstdint>
#include <memory>

#include "engine/fabric/fabric.h"

namespace hat::engine {

struct Faults {
  uint64_t seed = 1;
  std::chrono::nanoseconds delay_max{};  // of a completion: anything up to this
  uint32_t refused_percent = 0;          // of registrations and creations
  // Of a queue pair's requests, the one that breaks it, or from which on it is silent: a number
  // from 1 to this, by the seed; 0: none.
  uint64_t cut_within = 0;
  uint64_t silent_within = 0;
};

std::unique_ptr<Fabric> make_faulty(std::unique_ptr<Fabric> fabric, const Faults& faults);

}  // namespace hat::engine
