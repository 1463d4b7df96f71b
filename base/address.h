// SPDX-License-Identifier: Apache-2.0
// base/address.h: the address on which a stream socket listens or to which it connects, as written
// in a configuration.
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
    kShm,  // rings in shared memory, set up over a unix socket at `path` (docs/shm.md)
  };

  Kind kind = Kind::kTcp;
  std::string host;   // for kTcp: an IP address without brackets, or a host name
  uint16_t port = 0;  // for kTcp; if a listener has port 0, the kernel chooses its port
  std::string path;   // for kUnix and kShm: absolute, at most 107 bytes (sun_path)

  // Returns true if the address is a path in the file system, and not a host and a port.
  bool is_path() const;
  // Returns true if connections to the address carry their bytes in rings in shared memory.
  bool uses_rings() const;

  friend bool operator==(const Address&, const Address&) = default;
};

// Parses an address. An error names the text, the problem with the text, and the accepted forms.
Result<Address> parse_address(std::string_view text);

// Returns `address` as text, in the form that parse_address() accepts.
std::string to_string(const Address& address);

}  // namespace hat
