// SPDX-License-Identifier: Apache-2.0
// base/address.h: where a stream socket listens or connects, as written in a configuration.
//
//   tcp:127.0.0.1:9090   tcp:[::1]:9090   tcp:kv.example:9090
//   unix:/run/hatrpcd/kv.sock   shm:/run/hatrpcd/kv.ring
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace hat {

struct Address {
  enum class Kind : uint8_t {
    kTcp,
    kUnix,
    kShm,  // rings of shared memory, which a unix socket at `path` hands over (docs/shm.md)
  };

  Kind kind = Kind::kTcp;
  std::string host;   // kTcp: a numeric address without brackets, or a name
  uint16_t port = 0;  // kTcp; 0 lets the kernel choose when listening
  std::string path;   // kUnix, kShm: absolute, at most 107 bytes (sun_path)

  friend bool operator==(const Address&, const Address&) = default;
};

// Errors name the text, what is wrong with it, and a form that works.
Result<Address> parse_address(std::string_view text);

// The same spelling that parse_address() reads.
std::string to_string(const Address& address);

}  // namespace hat
