// SPDX-License-Identifier: Apache-2.0
// hatctl/reload.cc: formats the report of /reload as text.
#include "base/quantities.h"
#include "hatctl/pages.h"

namespace hat::hatctl {

std::string reload_text(const nlohmann::json& report, bool dry_run) {
  const auto& changes = report.at("changes");
  const std::string changed =
      changes.empty() ? std::string("no plan changes") : plural(changes.size(), "change");
  const std::string generation = std::to_string(report.at("generation").get<uint64_t>());
  // The daemon watches its files, so it has often applied an edited file before the operator runs
  // `hatctl reload --dry-run`. In this case the text explains why nothing would change.
  const std::string goes_on =
      changes.empty()
          ? " agrees with the files (hatrpcd reads a changed file by itself within two seconds)\n"
          : " stays in use\n";
  std::string text =
      dry_run ? "dry run: " + changed + "; generation " + generation + goes_on
              : "reloaded: " + changed + "; generation " + generation + " is in use now\n";
  for (const std::string change : changes) text += "  " + change + "\n";
  for (const std::string warning : report.at("warnings")) text += warning + "\n";
  return text;
}

}  // namespace hat::hatctl
