// SPDX-License-Identifier: Apache-2.0
// kv/server_address.h: the address that HatKV's client programs call if --connect is not given.
#pragma once

#include <cstdlib>

#include "base/address.h"
#include "base/result.h"

namespace hat {

// Returns $HATKV_ADDRESS, else tcp:127.0.0.1:9091.
inline Result<Address> default_server_address() {
  const char* text = std::getenv("HATKV_ADDRESS");
  const bool is_set = text != nullptr && *text != '\0';
  auto address = parse_address(is_set ? text : "tcp:127.0.0.1:9091");
  if (!address) return std::unexpected(in("$HATKV_ADDRESS", std::move(address.error())));
  return address;
}

}  // namespace hat
