// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/report.h: formats findings as text for people and as JSON for scripts.
//
//   {ok, node, config, hatctl, counts: {ok, warn, fail},
//    findings: [{verdict: "ok"|"warn"|"fail", check, subject, text, mend}]}
//
// Scripts rely on the keys of the JSON, so new versions may add keys but must not rename any.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "hatctl/doctor/examined.h"
#include "hatctl/doctor/findings.h"
#include "hatctl/terminal.h"

namespace hat::doctor {

// Returns all findings as text, each with the commands that repair the problem. The last line
// counts the findings by verdict.
std::string report_text(const Findings& findings, const hatctl::Terminal& terminal);
nlohmann::json report_json(const Examined& examined, const Findings& findings);

}  // namespace hat::doctor
