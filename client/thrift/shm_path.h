// SPDX-License-Identifier: Apache-2.0
// client/thrift/shm_path.h: the path in an address as hatrpcd's configuration writes it.
#pragma once

#include <string>

namespace hatrpc {

inline std::string shm_path(const std::string& address) {
  return address.rfind("shm:", 0) == 0 ? address.substr(4) : address;
}

}  // namespace hatrpc
