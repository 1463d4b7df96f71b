// SPDX-License-Identifier: Apache-2.0
// client/preload/fork_shared.h: an object in memory that a process shares with its forked children.
#pragma once

#include <sys/mman.h>

#include <new>

namespace hatrpc::preload {

template <class Object>
class ForkShared {
 public:
  ForkShared() {
    void* memory =
        mmap(nullptr, sizeof(Object), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    object_ = new (memory) Object{};
  }
  ~ForkShared() { munmap(object_, sizeof(Object)); }
  ForkShared(const ForkShared&) = delete;
  ForkShared& operator=(const ForkShared&) = delete;

  Object& operator*() const { return *object_; }
  Object* operator->() const { return object_; }

 private:
  Object* object_;
};

}  // namespace hatrpc::preload
