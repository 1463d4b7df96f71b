// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/expand.h: replaces the names in a node's configuration with the addresses that a
// Discovery knows, so that no worker looks up a name.
//
//   peers.kv.link: "dns:kv.example:7471"   becomes one peer for each address of kv.example, such as
//                                          "kv@10.0.0.1:7471"; endpoints with the peer `kv` get all
//                                          of them
//   peers.b.link: "tcp:b.example:7471"     keeps its name, and gets the first address
//   serves.Kv.upstream: "tcp:kv:9091"      keeps its text, and gets the addresses beside it; so do
//                                          "dns:kv:9091" and "srv:NAME"
#pragma once

#include <vector>

#include "config/node.h"
#include "daemon/discovery/discovery.h"

namespace hat {

// Returns the names in the configuration that must be looked up, each once.
std::vector<Lookup> lookups_of(const NodeConfig& node);

// Returns the configuration for the workers. A peer of which no address is known stays one peer,
// with PeerConfig::why_unknown. `discovery` must watch lookups_of(node).
NodeConfig expand(const NodeConfig& node, const Discovery& discovery);

}  // namespace hat
