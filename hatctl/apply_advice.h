// SPDX-License-Identifier: Apache-2.0
// hatctl/apply_advice.h: the part of `hatctl advise --apply` that edits the manifests that the
// running hatrpcd uses, and makes hatrpcd reload them.
//
// Either all proposals are applied or none. hatrpcd first checks the files as they are (a dry run
// of a reload), so that hatctl edits only files that hatrpcd accepts. If hatrpcd then refuses the
// edited files, hatctl restores the old ones.
//
// Errors   apply_advice() throws nlohmann::json::exception if an answer of hatrpcd lacks a value.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/result.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {

struct AppliedAdvice {
  std::vector<std::string> files;  // the manifests that were changed
  std::vector<std::string> notes;  // what is left to do for the operator, one sentence each
  nlohmann::json reload;           // hatrpcd's answer to POST /reload
};

// Applies all proposals in `advice`, an answer to GET /advice with at least one proposal. An error
// has the code kUnavailable if hatrpcd does not answer.
Result<AppliedAdvice> apply_advice(const HttpClient& client, const nlohmann::json& advice);

}  // namespace hat::hatctl
