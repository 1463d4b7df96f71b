// SPDX-License-Identifier: Apache-2.0
// hatctl/report_gaps.h: says which reports of workers an answer of hatrpcd lacks.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "base/quantities.h"

namespace hat::hatctl {

// Returns a line for each reason why `answer`, to GET /peers, /connections, /explain or /slow,
// lacks reports of workers; empty if it is complete. The answers to /connections and /slow have no
// key `left_out`, because they only have the first ones.
inline std::string report_gaps(const nlohmann::json& answer) {
  std::string text;
  if (const uint64_t silent = answer.at("workers_silent"); silent != 0) {
    text += std::to_string(silent) + " of " + plural(answer.at("workers"), "worker") +
            " did not answer in time; this list lacks them\n";
  }
  if (const uint64_t left_out = answer.value("left_out", uint64_t{0}); left_out != 0) {
    text += "this list is too long for one answer: it lacks " + std::to_string(left_out) +
            " links of workers to peers\n";
  }
  return text;
}

}  // namespace hat::hatctl
