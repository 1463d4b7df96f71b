// SPDX-License-Identifier: Apache-2.0
// client/preload/rules.h: the environment variables HATRPC_RINGS, which lists the addresses to
// which a program connects over rings, and HATRPC_LISTEN_RINGS, which lists the addresses at which
// a program also accepts connections over rings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/preload/address.h"

namespace hatrpc::preload {

inline constexpr char kListenVariable[] = "HATRPC_LISTEN_RINGS";

struct Rule {
  Address address;
  std::string path;  // the path of the acceptor's unix socket

  // Returns true if a socket that listens at `bound` accepts connections to the rule's address:
  // `bound` is this address, or a wildcard address (0.0.0.0 or ::) with the same port.
  bool covers(const Address& bound) const;
};

// Parses `127.0.0.1:9090=/run/hatrpcd/kv.ring,[::1]:9091=/run/x.ring`, the value of the environment
// variable `name`, and returns the valid rules. If a rule is invalid, stores a description of the
// error in `diagnostic`.
std::vector<Rule> parse_rules(std::string_view name, std::string_view text,
                              std::string& diagnostic);

// Returns the rules of HATRPC_RINGS. The first call parses the variable, and prints an error in it
// on standard error.
const std::vector<Rule>& connect_rules();
// Returns the rules of HATRPC_LISTEN_RINGS, in the same way.
const std::vector<Rule>& listen_rules();

}  // namespace hatrpc::preload
