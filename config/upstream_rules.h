// SPDX-License-Identifier: Apache-2.0
// config/upstream_rules.h: what the manifests' `allow` comes to at one server.
//
// A server may have several services behind one address (TMultiplexedProcessor), and any request
// that reaches it may name any of them. So rules are weighed for an address, not for a service.
#pragma once

#include <vector>

#include "base/address.h"
#include "config/manifest.h"
#include "config/node.h"

namespace hat {

struct UpstreamRules {
  // Every rule that this node enforces, each once: one server may have two addresses.
  std::vector<AccessRule> rules;
  // Some peer may be allowed a part of what is served there, and not all of it. Then requests are
  // held against the functions' signatures, which all of these services must have.
  bool rules_differ = false;
};

UpstreamRules rules_at(const Address& upstream, const std::vector<ServedConfig>& serves,
                       const Manifest& manifest);

}  // namespace hat
