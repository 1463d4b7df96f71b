// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/fake_resolver.h: a resolver for tests, which the test answers.
#pragma once

#include <list>
#include <string>
#include <utility>
#include <vector>

#include "daemon/discovery/resolver.h"

namespace hat {

// Keeps the lookups until the test answers them, the oldest first.
class FakeResolver final : public Resolver {
 public:
  void look_up(const Lookup& lookup, Done done) override { asked.emplace_back(lookup, done); }
  void wait(std::chrono::milliseconds longest) override {
    if (on_wait) on_wait(longest);
  }
  void answer(const std::vector<std::string>& addresses, std::chrono::seconds ttl) {
    Resolved resolved{{}, ttl};
    for (const std::string& one : addresses) resolved.addresses.push_back(*parse_address(one));
    take()(std::move(resolved));
  }
  void fail_one() { take()(hat::fail(ErrorCode::kUnavailable, "no server answers")); }

  std::list<std::pair<Lookup, Done>> asked;
  std::function<void(std::chrono::milliseconds)> on_wait;

 private:
  Done take() {
    Done done = std::move(asked.front().second);
    asked.pop_front();
    return done;
  }
};

}  // namespace hat
