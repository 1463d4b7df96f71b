// SPDX-License-Identifier: Apache-2.0
// client/preload/rules.h: which ring leads to which address, as HATRPC_RINGS lists them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/preload/address.h"

namespace hatrpc::preload {

struct Rule {
  Address address;
  std::string path;  // of the unix socket where the ring's acceptor listens
};

// Parses `127.0.0.1:9090=/run/hatrpcd/kv.ring,[::1]:9091=/run/x.ring`. If a rule is invalid,
// describes the error in `mistake`, and returns the valid rules all the same.
std::vector<Rule> parse_rules(std::string_view text, std::string& diagnostic);

// Returns this process's rules. Prints an error in them once, on standard error.
const std::vector<Rule>& rules();

}  // namespace hatrpc::preload
