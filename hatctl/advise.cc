// SPDX-License-Identifier: Apache-2.0
// hatctl/advise.cc: formats the answer of /advice (proposed changes of hints) as text, and selects
// the functions that the user wants to see.
#include <algorithm>
#include <map>

#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

constexpr size_t kAdviceIndent = 11;
constexpr uint64_t kShortWindowSeconds = 300;

std::string labelled(const std::string& label, const std::string& line, const Terminal& terminal) {
  return "  " + label + std::string(kAdviceIndent - 2 - label.size(), ' ') +
         wrapped(line, kAdviceIndent, terminal.columns) + "\n";
}

std::string value_text(const json& value) {
  return value.is_null() ? "not set" : value.get<std::string>();
}

// Returns one line for each group of hints that changes, such as "c_hint: {payload_size: 512}  (now
// 64KiB)", and one for each hint that is removed.
std::string changes_text(const json& changes, const Terminal& terminal) {
  struct Group {
    std::string hints;   // "payload_size: 512, polling: busy"
    std::string before;  // "64KiB, not set"
  };
  std::map<std::string, Group> groups;
  std::string removals;
  for (const json& change : changes) {
    const std::string group = change.at("group");
    const std::string key = change.at("key");
    const std::string before = value_text(change.at("from"));
    if (change.at("to").is_null()) {
      removals += labelled("remove", group + ": {" + key + ": " + before + "}", terminal);
      continue;
    }
    auto& [hints, all_before] = groups[group];
    hints += (hints.empty() ? "" : ", ") + key + ": " + value_text(change.at("to"));
    all_before += (all_before.empty() ? "" : ", ") + before;
  }
  std::string text;
  for (const auto& [group, written] : groups) {
    text += labelled("write", group + ": {" + written.hints + "}  (now " + written.before + ")",
                     terminal);
  }
  return text + removals;
}

std::string proposal_text(const json& proposal, const Terminal& terminal) {
  const std::string name =
      proposal.at("service").get<std::string>() + "." + proposal.at("function").get<std::string>();
  const std::string side = proposal.at("side");
  return coloured(name, Colour::kBold, terminal) + "  seen on the " + side + "'s side\n" +
         changes_text(proposal.at("changes"), terminal) +
         labelled("because", proposal.at("evidence"), terminal) +
         labelled("gain", proposal.at("gain"), terminal);
}

}  // namespace

json advice_wanted(json advice, const std::string& wanted) {
  json kept = json::array();
  for (const json& proposal : advice.at("proposals")) {
    const std::string service = proposal.at("service");
    const std::string name = service + "." + proposal.at("function").get<std::string>();
    if (wanted.empty() || wanted == service || wanted == name) kept.push_back(proposal);
  }
  advice["proposals"] = kept;
  return advice;
}

std::string advice_text(const json& advice, const Terminal& terminal) {
  const auto seconds = advice.at("window_seconds").get<uint64_t>();
  const std::string window = age_text(static_cast<double>(seconds));
  const json& proposals = advice.at("proposals");
  std::string text = proposals.empty()
                         ? "no change is proposed: the hints fit the calls of the last " + window
                         : "hatrpcd proposes these changes after the calls of the last " + window;
  text += "\n";
  if (seconds < kShortWindowSeconds) {
    text += wrapped(
                "This is a short time, in which few kinds of calls may have come; hatrpcd observes "
                "up to 20 min.",
                0, terminal.columns) +
            "\n";
  }
  for (const json& proposal : proposals) text += "\n" + proposal_text(proposal, terminal);
  if (!proposals.empty()) {
    text += "\n`hatctl advise --apply` makes these changes in the manifests, and reloads them.\n";
  }
  return text;
}

}  // namespace hat::hatctl
