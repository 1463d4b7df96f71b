// SPDX-License-Identifier: Apache-2.0
// bench/dds/patience.h: waiting for another client, by trying again.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace hat::bench {

// Who is waited for may be waiting for this processor: every so often it is offered. Dead ones are
// not waited for for ever.
class Patience {
 public:
  // False: it has been too long.
  bool again() {
    constexpr uint32_t kTriesPerYield = 16;
    if (++tries_ % kTriesPerYield != 0) return true;
    const auto now = std::chrono::steady_clock::now();
    if (tries_ == kTriesPerYield) end_ = now + kEnough;
    std::this_thread::yield();
    return now < end_;
  }

 private:
  static constexpr std::chrono::seconds kEnough{20};
  uint32_t tries_ = 0;
  std::chrono::steady_clock::time_point end_;
};

}  // namespace hat::bench
