// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/peer_share.h"

namespace hat {

std::shared_ptr<PeerShare> PeerShares::of(const std::string& identity) {
  std::erase_if(by_identity_, [](const auto& entry) { return entry.second.expired(); });
  std::weak_ptr<PeerShare>& known = by_identity_[identity];
  std::shared_ptr<PeerShare> share = known.lock();
  if (!share) known = share = std::make_shared<PeerShare>();
  return share;
}

}  // namespace hat
