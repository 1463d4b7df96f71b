// SPDX-License-Identifier: Apache-2.0
// base/owned.h: any C handle as a unique_ptr.
//
//   Owned<event_base, event_base_free> base{event_base_new()};
//
// Declare members in the order of creation: C++ destroys them in reverse.
#pragma once

#include <memory>

namespace hat {

template <auto Release>
struct Releaser {
  template <class T>
  void operator()(T* handle) const noexcept {
    (void)Release(handle);
  }
};

template <class T, auto Release>
using Owned = std::unique_ptr<T, Releaser<Release>>;

}  // namespace hat
