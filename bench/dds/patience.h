// SPDX-License-Identifier: Apache-2.0
// bench/dds/patience.h: limits a loop that waits for another client by trying again and again.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace hat::bench {

// Yields the processor after every 16 tries, because the other client can need it. Gives up after
// 20 s, because the other client can be dead.
class Patience {
 public:
  // Counts a try. Returns false if the caller has waited too long and must give up.
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
