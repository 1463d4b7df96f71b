// SPDX-License-Identifier: Apache-2.0
// client/thrift/shm_path.h: removes the prefix "shm:", which addresses in hatrpcd's configuration
// have, from a path.
#pragma once

#include <string>

namespace hatrpc {

inline std::string shm_path(const std::string& address) {
  return address.rfind("shm:", 0) == 0 ? address.substr(4) : address;
}

}  // namespace hatrpc
