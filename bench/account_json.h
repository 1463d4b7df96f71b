// SPDX-License-Identifier: Apache-2.0
// bench/account_json.h: an Account as fields of JSON.
#pragma once

#include <nlohmann/json.hpp>

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

}  // namespace hat::bench
