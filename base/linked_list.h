// SPDX-License-Identifier: Apache-2.0
// base/linked_list.h: a doubly linked list whose elements contain their links, so that adding and
// removing an element never allocates.
//
// An element type derives from Linked. An element is in at most one list, and leaves the list when
// the element or the list is destroyed. The list does not own its elements.
#pragma once

#include "base/check.h"

namespace hat {

class Linked {
 public:
  Linked() = default;
  ~Linked() { unlink(); }
  Linked(const Linked&) = delete;
  Linked& operator=(const Linked&) = delete;

  // Returns true if the element is in a list.
  bool is_linked() const { return next_ != this; }
  // Removes the element from its list. Does nothing if the element is in no list.
  void unlink() {
    next_->previous_ = previous_;
    previous_->next_ = next_;
    previous_ = next_ = this;
  }

 private:
  template <class T>
  friend class LinkedList;
  void insert_before(Linked& next) {
    DCHECK(!is_linked()) << "the element is in another list";
    previous_ = next.previous_;
    next_ = &next;
    previous_->next_ = this;
    next.previous_ = this;
  }

  Linked* previous_ = this;
  Linked* next_ = this;
};

template <class T>
class LinkedList {
 public:
  LinkedList() = default;
  ~LinkedList() {
    while (!empty()) front().unlink();
  }
  bool empty() const { return !ends_.is_linked(); }
  T& front() {
    DCHECK(!empty());
    return static_cast<T&>(*ends_.next_);
  }
  void push_back(T& element) { element.insert_before(ends_); }
  void push_front(T& element) { element.insert_before(*ends_.next_); }

 private:
  Linked ends_;  // before the first element and after the last one
};

}  // namespace hat
