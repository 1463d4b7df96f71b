// daemon/hatctl/reload.cc: the report of /reload as text.
#include "daemon/hatctl/pages.h"
#include "daemon/hatctl/quantities.h"

namespace hat::hatctl {

std::string reload_text(const nlohmann::json& report, bool dry_run) {
  const auto& changes = report.at("changes");
  const std::string changed =
      changes.empty() ? std::string("no plan changes") : plural(changes.size(), "change");
  const std::string generation = std::to_string(report.at("generation").get<uint64_t>());
  std::string text = dry_run
                         ? "dry run: " + changed + "; generation " + generation + " goes on\n"
                         : "reloaded: " + changed + "; generation " + generation + " holds now\n";
  for (const std::string change : changes) text += "  " + change + "\n";
  for (const std::string warning : report.at("warnings")) text += warning + "\n";
  return text;
}

}  // namespace hat::hatctl
