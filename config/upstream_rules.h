// SPDX-License-Identifier: Apache-2.0
// config/upstream_rules.h: finds the `allow` rules of the manifests (which peers may call a
// function) that apply to one server, which is identified by its address.
//
// A server may offer several services at one address (TMultiplexedProcessor), and a request that
// reaches the server may name any of these services. Therefore the rules are evaluated per address,
// not per service.
#pragma once

#include <vector>

#include "base/address.h"
#include "config/manifest.h"
#include "config/node.h"

namespace hat {

struct UpstreamRules {
  // All rules that this node enforces, without duplicates. Rules for servers at other addresses are
  // included, because one server may have two addresses.
  std::vector<AccessRule> rules;
  // True if a peer may be allowed only a part of what is served at the address. Requests are then
  // checked against the functions' signatures, which all services at the address must have.
  bool rules_differ = false;
};

// Returns the rules for the server at the address `upstream`.
UpstreamRules rules_at(const Address& upstream, const std::vector<ServedConfig>& serves,
                       const Manifest& manifest);

}  // namespace hat
