// SPDX-License-Identifier: Apache-2.0
// client/preload/rules.h: the environment variable HATRPC_RINGS, which lists the addresses that a
// program reaches over rings.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "client/preload/address.h"

namespace hatrpc::preload {

struct Rule {
  Address address;
  std::string path;  // the path of the acceptor's unix socket
};

// Parses `127.0.0.1:9090=/run/hatrpcd/kv.ring,[::1]:9091=/run/x.ring`, and returns the valid rules.
// If a rule is invalid, stores a description of the error in `diagnostic`.
std::vector<Rule> parse_rules(std::string_view text, std::string& diagnostic);

// Returns the rules of this process. The first call parses HATRPC_RINGS, and prints an error in it
// on standard error.
const std::vector<Rule>& rules();

}  // namespace hatrpc::preload
