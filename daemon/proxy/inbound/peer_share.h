// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/peer_share.h: what each peer has of a worker's limits, over all its links.
//
// No peer gets more than a quarter of a limit, so that one peer alone keeps no other from
// connecting or calling. Two links are the same peer's if their certificates prove the same names;
// where they prove nothing, if their hellos say the same name, which is only the peers' word.
//
// Thread   the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

namespace hat {

struct PeerShare {
  static constexpr size_t kPart = 4;

  uint64_t links = 0;           // limits.max_links
  uint64_t streams = 0;         // limits.max_peer_connections
  uint64_t buffered_bytes = 0;  // limits.max_buffered
};

class PeerShares {
 public:
  using What = uint64_t PeerShare::*;

  // That of this identity: the same one for as long as somebody holds it.
  std::shared_ptr<PeerShare> of(const std::string& identity);

  void add(What what, PeerShare& peer, int64_t change) {
    all_.*what += static_cast<uint64_t>(change);
    peer.*what += static_cast<uint64_t>(change);
  }
  // Of so many, one more is neither too many for all peers nor for this one.
  bool has_room(What what, const PeerShare& peer, uint64_t max) const {
    return all_.*what < max && peer.*what < max / PeerShare::kPart;
  }

 private:
  PeerShare all_;
  std::unordered_map<std::string, std::weak_ptr<PeerShare>> by_identity_;
};

}  // namespace hat
