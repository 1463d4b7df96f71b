// SPDX-License-Identifier: Apache-2.0
// bench/floors/dirty_bits.h: a bit in shared memory for each client for which a relay has work.
#pragma once

#include <atomic>
#include <bit>
#include <cstdint>
#include <span>

#include "bench/floors/floor.h"

namespace hat::bench {

// Any process may set bits, and one relay takes them.
class DirtyBits {
 public:
  explicit DirtyBits(uint32_t clients)
      : words_(shared_array<std::atomic<uint64_t>>((clients + 63) / 64)) {}

  void set(uint32_t client) { words_[client / 64].fetch_or(1ull << (client % 64)); }

  bool any() const {
    for (const auto& word : words_) {
      if (word.load() != 0) return true;
    }
    return false;
  }

  // Clears all bits and calls `work` for each client whose bit was set. Returns false if no bit was
  // set.
  template <class Work>
  bool take(const Work& work) {
    bool found = false;
    for (uint32_t i = 0; i < words_.size(); ++i) {
      if (words_[i].load(std::memory_order_relaxed) == 0) continue;
      for (uint64_t bits = words_[i].exchange(0); bits != 0; bits &= bits - 1) {
        work(i * 64 + static_cast<uint32_t>(std::countr_zero(bits)));
        found = true;
      }
    }
    return found;
  }

 private:
  std::span<std::atomic<uint64_t>> words_;
};

}  // namespace hat::bench
