// SPDX-License-Identifier: Apache-2.0
// engine/memory/buddy.h: records which granules of a piece of memory are free, by the buddy method
// (Knowlton, CACM 8(10), 1965; Knuth, TAOCP 1, 2.5C), with bitmaps, so that it allocates nothing
// after its construction.
//
// A run of n granules is cut from a free block of 2^k ≥ n; the rest of that block stays free. When
// a run is given back, it is split into aligned blocks, and each block joins its buddy if the buddy
// is free.
//
// Always   each granule is in one taken run or in one free block; a run is given back once.
// Cost     take() scans a bitmap's words, 64 blocks at a time; give_back() is O(log).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hat::engine {

class Buddy {
 public:
  explicit Buddy(size_t granules);

  // Returns the first granule of a run of `count` granules.
  std::optional<size_t> take(size_t count);
  void give_back(size_t first, size_t count);
  size_t free_count() const { return free_; }
  size_t count() const { return count_; }

 private:
  struct Order {
    size_t blocks_free = 0;
    size_t hint = 0;             // no word before this one has a free block
    std::vector<uint64_t> free;  // one bit per block
  };

  void add(size_t order, size_t block);
  void remove(size_t order, size_t block);
  bool has(size_t order, size_t block) const;
  size_t pop(size_t order);
  void free_run(size_t first, size_t count);

  size_t count_;
  size_t free_ = 0;
  std::vector<Order> orders_;
};

}  // namespace hat::engine
