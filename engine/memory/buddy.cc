// SPDX-License-Identifier: Apache-2.0
#include "engine/memory/buddy.h"

#include <algorithm>
#include <bit>

#include "base/check.h"

namespace hat::engine {

Buddy::Buddy(size_t granules) : count_(granules) {
  const size_t orders = std::bit_width(granules);
  for (size_t order = 0; order < orders; ++order) {
    orders_.push_back({.free = std::vector<uint64_t>((granules >> order) / 64 + 1)});
  }
  give_back(0, granules);
}

std::optional<size_t> Buddy::take(size_t count) {
  if (count == 0 || count > free_) return std::nullopt;
  size_t order = std::bit_width(count - 1);
  while (order < orders_.size() && orders_[order].blocks_free == 0) ++order;
  if (order >= orders_.size()) return std::nullopt;
  const size_t first = pop(order) << order;
  free_ -= size_t{1} << order;
  give_back(first + count, (size_t{1} << order) - count);
  return first;
}

void Buddy::give_back(size_t first, size_t count) {
  DCHECK(first <= count_ && count <= count_ - first) << first << " + " << count;
  free_ += count;
  DCHECK_LE(free_, count_) << "a run was given back twice";
  free_run(first, count);
}

void Buddy::free_run(size_t first, size_t count) {
  while (count != 0) {
    const size_t aligned =
        first == 0 ? orders_.size() - 1 : static_cast<size_t>(std::countr_zero(first));
    size_t order = std::min<size_t>(aligned, std::bit_width(count) - 1);
    const size_t granules = size_t{1} << order;
    size_t block = first >> order;
    while (order + 1 < orders_.size() && has(order, block ^ 1)) {
      remove(order, block ^ 1);
      block /= 2;
      ++order;
    }
    add(order, block);
    first += granules;
    count -= granules;
  }
}

bool Buddy::has(size_t order, size_t block) const {
  const auto& free = orders_[order].free;
  return block / 64 < free.size() && (free[block / 64] >> (block % 64) & 1) != 0;
}

void Buddy::add(size_t order, size_t block) {
  DCHECK(!has(order, block)) << "a run was given back twice";
  Order& one = orders_[order];
  one.free[block / 64] |= uint64_t{1} << (block % 64);
  one.hint = std::min(one.hint, block / 64);
  ++one.blocks_free;
}

void Buddy::remove(size_t order, size_t block) {
  DCHECK(has(order, block));
  orders_[order].free[block / 64] &= ~(uint64_t{1} << (block % 64));
  --orders_[order].blocks_free;
}

size_t Buddy::pop(size_t order) {
  Order& one = orders_[order];
  while (one.free[one.hint] == 0) ++one.hint;
  const size_t block = one.hint * 64 + static_cast<size_t>(std::countr_zero(one.free[one.hint]));
  remove(order, block);
  return block;
}

}  // namespace hat::engine
