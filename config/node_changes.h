// SPDX-License-Identifier: Apache-2.0
// config/node_changes.h: compares two configurations of one node, for a reload: which differences
// the running daemon can apply, and which need a takeover or a restart.
//
// Differences in the contents of the files that the configuration names (manifests, profiles,
// certificates) do not count here.
#pragma once

#include <string>
#include <vector>

#include "config/node.h"

namespace hat {

struct NodeChanges {
  // A line for each difference that the daemon can apply, such as "peers.host-c: added,
  // tcp:10.0.0.3:7471" or "limits.call_timeout: 5s → 10s".
  std::vector<std::string> applicable;
  // In the same form: differences that need a takeover or a restart.
  std::vector<std::string> need_takeover;
};

NodeChanges node_changes(const NodeConfig& before, const NodeConfig& after);

// Returns true if a link to the peer can stay: the address and the identity rule are the same.
bool same_link(const PeerConfig& a, const PeerConfig& b);
// Returns true if clients of the endpoint can stay: its address and its service are the same.
bool same_clients(const EndpointConfig& a, const EndpointConfig& b);
// Returns true if connections to the server can stay: all settings of the service are the same, and
// its server still has an address that it had.
bool same_server(const ServedConfig& a, const ServedConfig& b);

}  // namespace hat
