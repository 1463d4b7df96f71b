// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/report.h"

#include <array>

#include "base/quantities.h"
#include "hatctl/doctor/files.h"

namespace hat::doctor {
namespace {

using hatctl::Colour;

struct VerdictLook {
  const char* word;  // the verdict in JSON
  const char* mark;  // the verdict in text; all marks have the same width
  Colour colour;
};
constexpr std::array kLooks = {
    VerdictLook{"ok", "OK  ", Colour::kGreen},
    VerdictLook{"warn", "WARN", Colour::kYellow},
    VerdictLook{"fail", "FAIL", Colour::kRed},
};

const VerdictLook& look(Verdict verdict) { return kLooks[static_cast<size_t>(verdict)]; }

constexpr size_t kCheckColumns = 14;  // the longest name of a check, "configuration", and a space
constexpr size_t kIndent = 4 + 2 + kCheckColumns;

std::string padded_to(std::string text, size_t width) {
  if (text.size() < width) text.resize(width, ' ');
  return text;
}

}  // namespace

std::string report_text(const Findings& findings, const hatctl::Terminal& terminal) {
  std::string text;
  for (const Finding& finding : findings.all()) {
    const VerdictLook& verdict = look(finding.verdict);
    const std::string what = (finding.subject.empty() ? "" : finding.subject + ": ") + finding.text;
    text += hatctl::coloured(verdict.mark, verdict.colour, terminal) + "  " +
            padded_to(finding.check, kCheckColumns) +
            hatctl::wrapped(what, kIndent, terminal.columns) + "\n";
    // Commands are never broken into lines, so that they can be copied.
    for (const std::string& command : lines(finding.mend)) {
      text += std::string(kIndent, ' ') + hatctl::coloured(command, Colour::kBold, terminal) + "\n";
    }
  }
  const auto counted = [&](Verdict verdict, const char* word) {
    return plural(findings.count(verdict), word);
  };
  return text + "\n" + std::to_string(findings.count(Verdict::kOk)) + " ok, " +
         counted(Verdict::kWarn, "warning") + ", " + counted(Verdict::kFail, "failure") + "\n";
}

nlohmann::json report_json(const Examined& examined, const Findings& findings) {
  nlohmann::json all = nlohmann::json::array();
  for (const Finding& finding : findings.all()) {
    all.push_back({{"verdict", look(finding.verdict).word},
                   {"check", finding.check},
                   {"subject", finding.subject},
                   {"text", finding.text},
                   {"mend", finding.mend}});
  }
  return {{"ok", findings.count(Verdict::kFail) == 0},
          {"node", examined.file.node.node},
          {"config", examined.file.path},
          {"hatctl", examined.version},
          {"counts",
           {{"ok", findings.count(Verdict::kOk)},
            {"warn", findings.count(Verdict::kWarn)},
            {"fail", findings.count(Verdict::kFail)}}},
          {"findings", all}};
}

}  // namespace hat::doctor
