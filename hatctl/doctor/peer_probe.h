// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/peer_probe.h: finds out whether a peer's name can be resolved, and whether the
// peer's link port accepts connections.
//
// The probe opens a connection and closes the connection without sending anything. The peer then
// writes a line to its log, as for every connection to its link port on which no hello arrives.
#pragma once

#include <chrono>
#include <string>

#include "base/address.h"

namespace hat::doctor {

struct PeerProbe {
  std::string name;
  Address address;
  std::string resolve_error;  // why the name cannot be resolved; empty: the name can be resolved
  std::string ip;             // the first address to which the name resolves
  std::string own_ip;         // this host's address on the route to the peer; empty: no route
  uint32_t path_mtu = 0;      // the kernel's path MTU to the peer, in bytes; 0: unknown
  bool connected = false;
  std::string connect_error;  // why the connection failed; empty: it succeeded or was not tried
};

inline constexpr std::chrono::milliseconds kConnectTimeout{2000};

// Probes one peer. Opens a connection only if `connect` is true; the caller passes false if the
// running daemon has a link to the peer already. Blocks for at most the time of the resolver plus
// kConnectTimeout.
PeerProbe probe_peer(const std::string& name, const Address& address, bool connect);

}  // namespace hat::doctor
