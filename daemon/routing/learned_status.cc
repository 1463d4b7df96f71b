// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/learned_status.h"

#include <algorithm>
#include <utility>

namespace hat {

LearnedChoices common_choices(std::span<const LearnedStatus> all) {
  using Votes = std::vector<std::pair<std::string, size_t>>;  // choices, in the order of `all`
  std::map<LearnedFunction, Votes> votes;
  for (const LearnedStatus& one : all) {
    const std::string choice = one.is_hinted ? "" : one.choice;
    Votes& of_function = votes[{one.peer, one.service, one.method}];
    const auto same = std::ranges::find(of_function, choice, &Votes::value_type::first);
    if (same == of_function.end()) {
      of_function.emplace_back(choice, 1);
    } else {
      ++same->second;
    }
  }
  LearnedChoices common;
  for (const auto& [function, of_function] : votes) {
    common[function] = std::ranges::max_element(of_function, {}, &Votes::value_type::second)->first;
  }
  return common;
}

}  // namespace hat
