// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/discovery.h: keeps the addresses of the names in a node's configuration up to
// date.
//
// Each name is looked up again when its last answer may no longer be used. If a lookup fails, the
// last good answer stays in use, and the lookup is repeated after a pause that doubles.
//
// Bounds   One lookup of a name at a time. kAddressesMax addresses of a name.
// Thread   Only the main thread uses this class.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/reactor.h"
#include "daemon/discovery/resolver.h"

namespace hat {

class Discovery {
 public:
  // An answer is used for at least kTtlMin, so that a TTL of 0 does not make the daemon ask without
  // end, and for at most kTtlMax.
  static constexpr std::chrono::seconds kTtlMin{1};
  static constexpr std::chrono::seconds kTtlMax{300};
  static constexpr std::chrono::seconds kRetryMin{1};
  static constexpr std::chrono::seconds kRetryMax{30};
  static constexpr size_t kAddressesMax = 256;

  struct Name {
    std::vector<Address> addresses;  // of the last good answer; empty: none has come yet
    std::string error;               // of the last lookup; empty if it was successful
    uint64_t answers = 0;            // lookups that were successful
    uint64_t failures = 0;           // lookups that failed
  };

  explicit Discovery(std::unique_ptr<Resolver> resolver) : resolver_(std::move(resolver)) {}

  // Looks up these names from now on, and no others. Keeps the answers about names that it has
  // watched before.
  void watch(const std::vector<Lookup>& names);
  // Begins the lookups that are due. Call it about once a second.
  void refresh(TimePoint now);
  // Returns true if, since the last call, addresses have changed, or the error of a name without
  // addresses.
  bool take_change() { return std::exchange(changed_, false); }
  // Returns what is known about a name that is watched.
  const Name& find(const Lookup& name) const { return names_.at(name).name; }
  // Begins the lookups that are due, and waits until a lookup of each name has ended, but not for
  // longer than `longest`. Blocks the thread.
  void wait_for_first_answers(std::chrono::nanoseconds longest);
  // Returns all names that are watched.
  std::vector<std::pair<Lookup, Name>> all() const;

 private:
  bool all_tried() const;

  struct Entry {
    Name name;
    TimePoint next{};                        // when the next lookup begins
    std::chrono::seconds pause = kRetryMin;  // after the next failure
    uint64_t running = 0;  // the number of the lookup that has begun and not ended, or 0
  };

  void take(const Lookup& lookup, uint64_t number, Result<Resolved> answer);
  void note_failure(Entry& entry, const std::string& error);

  TimePoint now_{};  // of the last refresh()
  std::map<Lookup, Entry> names_;
  uint64_t lookups_ = 0;  // begun so far
  bool changed_ = false;
  std::unique_ptr<Resolver> resolver_;
};

}  // namespace hat
