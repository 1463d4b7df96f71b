// SPDX-License-Identifier: Apache-2.0
// base/fifo.h: a queue that never frees its memory. After the queue has grown to the size that its
// user needs, push_back() and pop_front() do not allocate.
#pragma once

#include <cstddef>
#include <utility>
#include <vector>

namespace hat {

template <class T>
class Fifo {
 public:
  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }
  size_t capacity() const { return slots_.size(); }  // never decreases
  T& front() { return slots_[begin_]; }
  const T& front() const { return slots_[begin_]; }
  T& back() { return (*this)[size_ - 1]; }
  T& operator[](size_t i) { return slots_[(begin_ + i) & (slots_.size() - 1)]; }
  const T& operator[](size_t i) const { return slots_[(begin_ + i) & (slots_.size() - 1)]; }

  T& push_back(T value) { return extend() = std::move(value); }
  // Appends an element without setting its value, and returns the element. The element has the
  // value of an earlier element that used the same memory.
  T& extend() {
    if (size_ == slots_.size()) grow();
    ++size_;
    return back();
  }
  void pop_front() {
    begin_ = (begin_ + 1) & (slots_.size() - 1);
    --size_;
  }
  void pop_back() { --size_; }
  void clear() { begin_ = size_ = 0; }

 private:
  void grow() {  // keeps the capacity a power of two, so that a bit mask can wrap an index
    std::vector<T> bigger(slots_.empty() ? 8 : slots_.size() * 2);
    for (size_t i = 0; i < size_; ++i) bigger[i] = std::move((*this)[i]);
    slots_ = std::move(bigger);
    begin_ = 0;
  }

  std::vector<T> slots_;
  size_t begin_ = 0;
  size_t size_ = 0;
};

}  // namespace hat
