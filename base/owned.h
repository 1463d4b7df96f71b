// SPDX-License-Identifier: Apache-2.0
// base/owned.h: wraps a C handle in a unique_ptr that calls the handle's release function.
//
//   Owned<event_base, event_base_free> base{event_base_new()};
//
// A class with several such members must declare them in the order in which the handles are
// created, because C++ destroys members in the reverse order.
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
