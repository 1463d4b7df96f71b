// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/peer_share.h: how much of a worker's limits each peer uses, over all its
// links.
//
// No peer gets more than a quarter of a limit, so one peer alone cannot keep the others from
// connecting or calling. Two links belong to the same peer if their certificates prove the same
// names. If the certificates prove nothing, they belong to the same peer if their hellos have the
// same name, which nothing proves.
//
// Thread   the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>

#include "base/check.h"

namespace hat {

struct PeerShare {
  static constexpr size_t kPart = 4;

  uint64_t links = 0;           // limits.max_links
  uint64_t streams = 0;         // limits.max_peer_connections
  uint64_t buffered_bytes = 0;  // limits.max_buffered

  // Asserts that everything which was counted has gone before the peer.
  ~PeerShare() {
    DCHECK(links == 0 && streams == 0 && buffered_bytes == 0)
        << "still counted: " << links << " links, " << streams << " streams, " << buffered_bytes
        << " bytes";
  }
};

class PeerShares {
 public:
  using What = uint64_t PeerShare::*;

  // Returns the share of this identity: the same object as long as a pointer to it exists.
  std::shared_ptr<PeerShare> of(const std::string& identity);

  void add(What what, PeerShare& peer, int64_t change) {
    DCHECK_GE(static_cast<int64_t>(peer.*what) + change, 0) << "less than nothing is counted";
    all_.*what += static_cast<uint64_t>(change);
    peer.*what += static_cast<uint64_t>(change);
  }
  // Returns true if one more is within `max` for all peers together, and within this peer's part of
  // `max`.
  bool has_space(What what, const PeerShare& peer, uint64_t max) const {
    return all_.*what < max && peer.*what < max / PeerShare::kPart;
  }

 private:
  PeerShare all_;
  std::unordered_map<std::string, std::weak_ptr<PeerShare>> by_identity_;
};

}  // namespace hat
