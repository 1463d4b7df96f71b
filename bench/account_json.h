// SPDX-License-Identifier: Apache-2.0
// bench/account_json.h: an Account and percentiles as fields of JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <vector>

#include "base/rounded.h"
#include "bench/account.h"

namespace hat::bench {

// Returns an object with the fields that bench/tool/clock.py reads.
inline nlohmann::ordered_json account_json(const Account& account) {
  return {{"mean_us", rounded(account.mean_us(), 3)},
          {"think_us", rounded(account.think_us(), 3)},
          {"fewest", account.fewest},
          {"most", account.most},
          {"cut_off", account.cut_off}};
}

// Returns the value that is larger than this part of the values; 0 if there are none.
template <class Value>
double percentile(const std::vector<Value>& sorted, double part) {
  if (sorted.empty()) return 0;
  return static_cast<double>(sorted[static_cast<size_t>(part * double(sorted.size() - 1))]);
}

}  // namespace hat::bench
