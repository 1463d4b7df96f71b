// SPDX-License-Identifier: Apache-2.0
// engine/memory/buddy.h: which granules of a piece of memory are free: the buddy method (Knowlton,
// CACM 8(10), 1965; Knuth, TAOCP 1, 2.5C), with bitmaps, so that nothing is allocated once made.
//
// A run of n granules is cut from a free block of 2^k ≥ n; the rest of that block stays free. Given
// back, a run falls into aligned blocks again, and each joins its buddy where that is free.
//
// Cost     take() looks through a bitmap's words, 64 blocks at a time; give_back() is O(log).
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace hat::engine {

class Buddy {
 public:
  explicit Buddy(size_t granules);

  // The first granule of a run.
  std::optional<size_t> take(size_t count);
  void give_back(size_t first, size_t count);
  size_t free_count() const { return free_; }
  size_t count() const { return count_; }

 private:
  struct Order {
    size_t blocks_free = 0;
    size_t hint = 0;             // no free block in a word before this
    std::vector<uint64_t> free;  // a bit per block
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
