// SPDX-License-Identifier: Apache-2.0
// config/upstream_rules.h: finds the `allow` rules (which peers may call a function) that apply to
// the server at one address.
//
// A server can offer several services at one address (TMultiplexedProcessor of Thrift), and a
// request can name any of these services. Therefore this code combines the rules of all services at
// an address.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "base/address.h"
#include "config/manifest.h"
#include "config/node.h"

namespace hat {

struct UpstreamRules {
  // All rules of the manifest except dry runs, each once. Rules for services at other addresses are
  // included, because one server can have two addresses.
  std::vector<AccessRule> rules;
  // True if the functions at the address have different rules, so that a peer can be allowed to
  // call only some of them. The daemon must then check requests against the signatures of the
  // functions, so all services at the address need signatures.
  bool rules_differ = false;
  std::vector<std::string> services;  // the services at the address, in the order of `serves`

  bool has(std::string_view service) const {
    return std::ranges::find(services, service) != services.end();
  }
};

// Returns the rules for the server at the address `upstream`. A service can be in `serves` more
// than once, with different addresses.
UpstreamRules rules_at(const Address& upstream, const std::vector<ServedConfig>& serves,
                       const Manifest& manifest);

}  // namespace hat
