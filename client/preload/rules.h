// SPDX-License-Identifier: Apache-2.0
// client/preload/rules.h: which addresses are reached over which ring: HATRPC_RINGS.
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

// `127.0.0.1:9090=/run/hatrpcd/kv.ring,[::1]:9091=/run/x.ring`. What is wrong with it comes as a
// sentence in `mistake`; the rules that can be read hold all the same.
std::vector<Rule> parse_rules(std::string_view text, std::string& mistake);

// This process's. A mistake in them is told once, on standard error.
const std::vector<Rule>& rules();

}  // namespace hatrpc::preload
