// SPDX-License-Identifier: Apache-2.0
#include "client/preload/doorbells.h"

#include <bit>
#include <new>

namespace hatrpc::preload {

void Doorbells::forget_threads() { new (&mutex_) std::mutex; }

void Doorbells::ask(ring::Channel& channel, uint32_t what) {
  const std::lock_guard lock(mutex_);
  uint32_t asked = counts_.asked;
  const uint32_t taken = asked & ~channel.armed();
  counts_.due += static_cast<uint32_t>(std::popcount(taken));
  asked &= ~taken;
  // Calls arm(), which has a full memory barrier, only for bits that are not set yet. The other
  // side sees a bit of an earlier ask() without a new barrier when it changes its counters.
  if ((what & ~asked) != 0) channel.arm(what & ~asked);
  counts_.asked = asked | what;
}

bool Doorbells::withdraw_space(ring::Channel& channel) {
  if ((counts_.asked & ring::kForSpace) == 0) return false;
  const std::lock_guard lock(mutex_);
  if ((counts_.asked & ring::kForSpace) == 0) return false;
  counts_.asked &= ~uint32_t{ring::kForSpace};
  if (channel.stay_awake(ring::kForSpace) != 0) return false;
  ++counts_.due;
  return true;
}

void Doorbells::take_all(ring::Channel& channel, bool seen) {
  const std::lock_guard lock(mutex_);
  if (counts_.due != 0) {
    take(channel, counts_.due);
  } else if (seen) {
    channel.hear(1);
  }
}

void Doorbells::take_all_but_one(ring::Channel& channel) {
  const std::lock_guard lock(mutex_);
  if (counts_.due > 1) take(channel, counts_.due - 1);
}

void Doorbells::take(ring::Channel& channel, uint32_t doorbells_max) {
  counts_.due -= static_cast<uint32_t>(channel.hear(doorbells_max));
}

}  // namespace hatrpc::preload
