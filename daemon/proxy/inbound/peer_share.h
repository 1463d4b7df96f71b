// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/peer_share.h: how much of a worker's limits each peer uses, over all links
// of the peer.
//
// No peer gets more than a quarter of a limit, so one peer alone cannot keep other peers from
// connecting or calling. Two links belong to the same peer if the peer's certificates on the two
// links have the same names. Without certificates, two links belong to the same peer if the hellos
// have the same node name; a node name in a hello is only a claim.
//
// Thread   the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/check.h"
#include "engine/memory/budget.h"

namespace hat {

struct PeerShare {
  static constexpr size_t kPart = 4;  // one peer gets at most 1 / kPart of each limit

  uint64_t links = 0;           // limited by limits.max_links
  uint64_t streams = 0;         // limited by limits.max_peer_connections
  uint64_t buffered_bytes = 0;  // limited by limits.max_buffered
  // A part of the budget of engine::RdmaHost; empty as long as the peer has had no RDMA lane. A
  // domain that counts against this budget keeps the PeerShare, so that the next link of the peer
  // finds the same budget.
  std::optional<engine::RdmaBudget> rdma;

  // Asserts that no link, stream or byte of the peer is still counted.
  ~PeerShare() {
    DCHECK(links == 0 && streams == 0 && buffered_bytes == 0)
        << "still counted: " << links << " links, " << streams << " streams, " << buffered_bytes
        << " bytes";
  }
};

class PeerShares {
 public:
  using What = uint64_t PeerShare::*;  // PeerShare's member links, streams or buffered_bytes

  // Returns the share of the peer with this identity (certificate names, or else the node name).
  // Returns the same object while any shared_ptr to the share exists.
  std::shared_ptr<PeerShare> of(const std::string& identity);

  // Adds `change`, which may be negative, to the count `what` of this peer and of all peers.
  void add(What what, PeerShare& peer, int64_t change) {
    DCHECK_GE(static_cast<int64_t>(peer.*what) + change, 0) << "less than nothing is counted";
    all_.*what += static_cast<uint64_t>(change);
    peer.*what += static_cast<uint64_t>(change);
  }
  // Returns true if the count `what` can grow by one: for all peers together it is below `max`, and
  // for this peer it is below a quarter of `max`.
  bool has_space(What what, const PeerShare& peer, uint64_t max) const {
    return all_.*what < max && peer.*what < max / PeerShare::kPart;
  }

 private:
  PeerShare all_;
  std::unordered_map<std::string, std::weak_ptr<PeerShare>> by_identity_;
};

}  // namespace hat
