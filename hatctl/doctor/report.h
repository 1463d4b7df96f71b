// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/report.h: findings for people, and for scripts.
//
//   {ok, node, hatctl, counts: {ok, warn, fail},
//    findings: [{verdict: "ok"|"warn"|"fail", check, subject, text, mend}]}
//
// An interface: keys are added and never renamed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hatctl/doctor/examined.h"
#include "hatctl/doctor/findings.h"
#include "hatctl/terminal.h"

namespace hat::doctor {

// Failures and warnings with what mends them; a last line counts.
std::string report_text(const Findings& findings, const hatctl::Terminal& terminal);
nlohmann::json report_json(const Examined& examined, const Findings& findings);

}  // namespace hat::doctor
