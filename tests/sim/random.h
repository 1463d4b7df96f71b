// SPDX-License-Identifier: Apache-2.0
// tests/sim/random.h: random numbers that depend only on the seed: they are the same on every
// machine and with every C++ library.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/reactor.h"

namespace hat::sim {

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }
  uint64_t below(uint64_t end) { return end == 0 ? 0 : next() % end; }
  uint64_t between(uint64_t first, uint64_t last) { return first + below(last - first + 1); }
  bool percent(uint64_t chance) { return below(100) < chance; }
  Duration between(Duration first, Duration last) {
    return first +
           Duration(static_cast<int64_t>(below(static_cast<uint64_t>((last - first).count()) + 1)));
  }
  // Returns a number from `first` to `last`, and prefers small numbers: the range begins near
  // `first`, and doubles again and again with a probability of 60 % each time.
  uint64_t log_between(uint64_t first, uint64_t last) {
    uint64_t low = first;
    while (low < last && percent(60)) low = low * 2 + 1;
    return low >= last ? last : between(low, std::min(last, low * 2 + 1));
  }
  template <class T>
  void shuffle(std::vector<T>& all) {
    for (size_t i = all.size(); i > 1; --i) std::swap(all[i - 1], all[below(i)]);
  }

 private:
  uint64_t state_;
};

}  // namespace hat::sim
