// SPDX-License-Identifier: Apache-2.0
// daemon/routing/learned_status.h: what one worker has learned about the calls of one function to
// one peer, for hatctl and for the file that keeps it (config/learned_choices.h).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "config/learned_choices.h"

namespace hat {

struct LearnedStatus {
  std::string peer;
  std::string service;
  std::string method;
  std::string choice;      // the current one
  std::string to_keep;     // `choice` by LearnedPlan::kept_name(); empty: the plan of the hints
  bool is_kept = false;    // `choice` is that of an earlier process, and has not changed since
  bool searching = false;  // some other choice is not rejected
  uint64_t trials = 0;     // of all choices
  uint64_t changes = 0;    // of the current choice
  double noise = 0;        // the standard error of one trial's result, as a share of the cost
  std::string measures;    // what the costs are, such as "mean time of a call"
  struct Cost {
    std::string choice;
    double ns = 0;
  };
  // The choices that were measured, each with its last cost: the current one, then the others from
  // the cheapest on.
  std::vector<Cost> costs;
};

// Returns for each function in `all` the choice (LearnedStatus::to_keep) whose workers have made
// the most trials, or the first of several such choices. Workers without trials do not count,
// because they have learned nothing.
LearnedChoices common_choices(std::span<const LearnedStatus> all);

}  // namespace hat
