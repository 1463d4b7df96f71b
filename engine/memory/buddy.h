// SPDX-License-Identifier: Apache-2.0
// engine/memory/buddy.h: records which granules (equal parts) of a piece of memory are free. It
// uses the buddy method (Knowlton, CACM 8(10), 1965; Knuth, TAOCP 1, 2.5C) with bitmaps, so a Buddy
// allocates no memory after its construction.
//
// A run is a number of adjacent granules that a caller takes. A run of n granules is cut from a
// free block of 2^k ≥ n granules; the rest of that block stays free. A run that is given back is
// split into aligned blocks, and each block is merged with its neighbour of the same size (its
// buddy) if the buddy is free.
//
// Always   Each granule is in exactly one taken run or one free block. The caller must give each
//          run back exactly once.
// Cost     take() scans a bitmap, 64 blocks at a time. give_back() takes O(log(granules)) steps.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hat::engine {

class Buddy {
 public:
  explicit Buddy(size_t granules);

  // Takes a run of `count` granules and returns the number of its first granule. Returns nullopt if
  // no free block is large enough.
  std::optional<size_t> take(size_t count);
  // Gives back the run of `count` granules that begins with granule `first`.
  void give_back(size_t first, size_t count);
  size_t free_count() const { return free_; }
  size_t count() const { return count_; }

 private:
  struct Order {
    size_t blocks_free = 0;
    size_t hint = 0;             // the words of `free` before this index have no free block
    std::vector<uint64_t> free;  // one bit per block of 2^order granules; 1: the block is free
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
