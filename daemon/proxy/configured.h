// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/configured.h: the endpoints and served services of a worker, which a reload can
// change while connections use them.
//
// A connection keeps the endpoint or the service with which it began, even if a reload removes or
// replaces that entry. So a reload ends no connection.
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "config/node.h"
#include "daemon/proxy/ejections.h"
#include "daemon/proxy/outbound/peer_choice.h"
#include "daemon/proxy/outbound/peer_speeds.h"

namespace hat {

// An endpoint. `number` is unique among the current entries of this kind and those that are still
// used. `is_current` is false after a reload that removed or replaced the entry.
struct Endpoint {
  EndpointConfig config;
  uint32_t number;
  bool is_current = true;
  size_t connections = 0;  // of clients
  PeerTurns turns{};       // of `config.peers`
  Ejections ejected{};     // of `config.peers`
  PeerSpeeds speeds{};     // of `config.peers`, in this order
  // The links among which calls choose, those of the node's zone or all if it has none. The list
  // is up to date if `links_version` is the worker's.
  WeightedPeers links{};
  uint64_t links_version = 0;
};

// A served service; `number` and `is_current` as above.
struct Served {
  ServedConfig config;
  uint32_t number;
  bool is_current = true;
};

// Keeps all entries of one kind, in the order of the configuration.
template <class Value>
class ConfiguredList {
 public:
  using Config = decltype(Value::config);
  using Entry = std::shared_ptr<Value>;

  const std::vector<Entry>& all() const { return all_; }

  // Makes the list equal to `next`. An entry for which `keeps(entry, config)` is true for some
  // element of `next` stays the same object, and gets this element's settings. Other entries are no
  // longer current. Returns those.
  template <class Keeps>
  std::vector<Entry> apply(const std::vector<Config>& next, Keeps keeps) {
    std::vector<Entry> before = std::exchange(all_, {});
    for (const Config& config : next) {
      const auto found = std::ranges::find_if(
          before, [&](const Entry& entry) { return keeps(entry->config, config); });
      if (found == before.end()) {
        all_.push_back(make(config));
        continue;
      }
      (*found)->config = config;
      all_.push_back(std::move(*found));
      before.erase(found);
    }
    for (const Entry& entry : before) entry->is_current = false;
    return before;
  }

 private:
  Entry make(const Config& config) {
    const auto free =
        std::ranges::find_if(by_number_, [](const auto& entry) { return entry.expired(); });
    const auto number = static_cast<uint32_t>(free - by_number_.begin());
    if (free == by_number_.end()) by_number_.emplace_back();
    auto made = std::make_shared<Value>(config, number);
    by_number_[number] = made;
    return made;
  }

  std::vector<Entry> all_;
  std::vector<std::weak_ptr<Value>> by_number_;
};

}  // namespace hat
