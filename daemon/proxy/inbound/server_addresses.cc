// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_addresses.h"

#include <algorithm>
#include <tuple>

#include "base/check.h"

namespace hat {

const Address* ServerAddresses::choose(const ServedConfig& served, std::span<const Address> tried,
                                       TimePoint now) const {
  const std::vector<Address>& all = served.addresses;
  const bool spreads = served.kind != NameKind::kAddress;
  // The addresses after the last one come first.
  const auto last = std::ranges::find(all, last_);
  const size_t first = !spreads            ? 0
                       : last == all.end() ? first_
                                           : static_cast<size_t>(last - all.begin()) + 1;
  const Address* best = nullptr;
  std::tuple<bool, size_t> best_rank;  // whether it is avoided, and how much it is used
  for (size_t i = 0; i < all.size(); ++i) {
    const Address& one = all[(first + i) % all.size()];
    if (std::ranges::find(tried, one) != tried.end()) continue;
    const bool is_avoided = !ejections_.empty() && ejections_.avoids(to_string(one), now);
    const std::tuple rank(is_avoided, spreads ? used(one) : 0);
    if (best != nullptr && best_rank <= rank) continue;
    best = &one;
    best_rank = rank;
  }
  return best;
}

void ServerAddresses::begin_use(const Address& address) {
  last_ = address;
  const auto found = std::ranges::find(uses_, address, &Use::address);
  if (found == uses_.end()) {
    uses_.push_back({address, 1});
  } else {
    ++found->connections;
  }
}

void ServerAddresses::end_use(const Address& address) {
  const auto found = std::ranges::find(uses_, address, &Use::address);
  CHECK(found != uses_.end()) << to_string(address) << ": a use ended that did not begin";
  if (--found->connections == 0) uses_.erase(found);
}

size_t ServerAddresses::used(const Address& address) const {
  const auto found = std::ranges::find(uses_, address, &Use::address);
  return found == uses_.end() ? 0 : found->connections;
}

}  // namespace hat
