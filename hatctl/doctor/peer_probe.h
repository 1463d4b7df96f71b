// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/peer_probe.h: finds out whether a peer's link port accepts connections.
//
// The probe opens a connection and closes the connection without sending anything. The peer then
// writes a line to its log, as for every connection to its link port on which no hello arrives.
#pragma once

#include <chrono>
#include <string>

#include "base/address.h"
#include "config/node.h"

namespace hat::doctor {

struct PeerProbe {
  std::string name;
  Address address;
  std::string link;           // the value of the key `link`
  std::string resolve_error;  // why the address is not known; empty: it is known
  std::string ip;             // the numeric address; empty if `address` is a path
  std::string own_ip;         // this host's address on the route to the peer; empty: no route
  uint32_t path_mtu = 0;      // the kernel's path MTU to the peer, in bytes; 0: unknown
  bool connected = false;
  std::string connect_error;  // why the connection failed; empty: it succeeded or was not tried
};

inline constexpr std::chrono::milliseconds kConnectTimeout{2000};

// Probes one peer, whose name in `link` was looked up (daemon/discovery/expand.h). Opens a
// connection only if `connect` is true; the caller passes false if the running daemon has a link to
// the peer already. Blocks for at most kConnectTimeout.
PeerProbe probe_peer(const PeerConfig& peer, bool connect);

}  // namespace hat::doctor
