// SPDX-License-Identifier: Apache-2.0
// bench/dds/patience.h: waits for another client by repeated tries.
#pragma once

#include <chrono>
#include <cstdint>
#include <thread>

namespace hat::bench {

// Yields the processor after every 16 tries, since the other client may need it, and gives up after
// 20 s, since the other client may be dead.
class Patience {
 public:
  // Returns false if the wait took too long.
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
