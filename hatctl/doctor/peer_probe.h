// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/peer_probe.h: whether a peer's name is known and its link port answers.
//
// A connection is made, and closed before a word: the far daemon notes it in its log, as it does
// whatever comes to its link and says no hello.
#pragma once

#include <chrono>
#include <string>

#include "base/address.h"

namespace hat::doctor {

struct PeerProbe {
  std::string name;
  Address address;
  std::string resolve_error;  // why its name leads nowhere
  std::string ip;             // where it leads
  std::string own_ip;         // from which of this host's addresses; empty: no way there is known
  uint32_t path_mtu = 0;      // that the kernel knows of; 0: none
  bool connected = false;
  std::string connect_error;  // why not; empty also where it was not tried
};

inline constexpr std::chrono::milliseconds kConnectTimeout{2000};

// Blocks, for a resolver's time and the time-out at most. `connect`: false where the running daemon
// has a link to it anyway.
PeerProbe probe_peer(const std::string& name, const Address& address, bool connect);

}  // namespace hat::doctor
