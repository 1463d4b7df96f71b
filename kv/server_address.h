// SPDX-License-Identifier: Apache-2.0
// kv/server_address.h: the default address to which HatKV's client programs connect.
#pragma once

#include <cstdlib>

#include "base/address.h"
#include "base/result.h"

namespace hat {

// Returns the address in $HATKV_ADDRESS, or tcp:127.0.0.1:9091 if the variable is not set or is
// empty. Returns an error if the variable is not an address.
inline Result<Address> default_server_address() {
  const char* text = std::getenv("HATKV_ADDRESS");
  const bool is_set = text != nullptr && *text != '\0';
  auto address = parse_address(is_set ? text : "tcp:127.0.0.1:9091");
  if (!address) return std::unexpected(in("$HATKV_ADDRESS", std::move(address.error())));
  return address;
}

}  // namespace hat
