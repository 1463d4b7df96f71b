// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_status.h"

#include <algorithm>
#include <utility>

namespace hat {

LearnedChoices common_choices(std::span<const LearnedStatus> all) {
  using Trials = std::vector<std::pair<std::string, uint64_t>>;  // by choice, in the order of `all`
  std::map<LearnedFunction, Trials> trials;
  for (const LearnedStatus& one : all) {
    if (one.trials == 0) continue;
    Trials& of_function = trials[{one.peer, one.service, one.method}];
    auto same = std::ranges::find(of_function, one.to_keep, &Trials::value_type::first);
    if (same == of_function.end()) same = of_function.insert(same, {one.to_keep, 0});
    same->second += one.trials;
  }
  LearnedChoices common;
  for (const auto& [function, of_function] : trials) {
    common[function] =
        std::ranges::max_element(of_function, {}, &Trials::value_type::second)->first;
  }
  return common;
}

}  // namespace hat
