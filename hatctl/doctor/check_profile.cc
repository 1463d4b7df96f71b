// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_profile.cc: checks the profiles, the files of measured costs from which the
// planner chooses: whether the daemon uses them, and whether they are still true for this node.
#include <ctime>

#include "base/quantities.h"
#include "hatctl/doctor/checks.h"

namespace hat::doctor {
namespace {

// Costs change with the kernel, the firmware and the network. After this many days, somebody who
// relies on them should measure again.
constexpr int64_t kDaysMax = 90;
constexpr int64_t kSecondsOfDay = 24 * 60 * 60;

// Returns seconds since 1970; nullopt if the text is not a time such as "2026-11-22T12:00:00Z".
std::optional<int64_t> unix_seconds(const std::string& text) {
  std::tm parts{};
  const char* end = strptime(text.c_str(), "%Y-%m-%dT%H:%M:%SZ", &parts);
  if (end == nullptr || *end != '\0') return std::nullopt;
  return timegm(&parts);
}

// Returns why the costs may not be those of this node now; empty if there is no reason.
std::string why_stale(const NamedProfile& named, const Examined& examined) {
  const Profile& profile = named.profile;
  const DaemonState& daemon = examined.daemon;
  const std::string& fabric = profile.costs.fabric;
  if (!profile.node.empty() && profile.node != examined.file.node.node) {
    return "it was measured by the node " + profile.node;
  }
  if (daemon.answers() && !daemon.fabric_kind.empty() && daemon.fabric_kind != fabric) {
    return "its costs are those of the fabric " + fabric + ", but hatrpcd uses " +
           daemon.fabric_kind + ", and so ignores them";
  }
  if (daemon.answers() && !profile.device.empty() && daemon.fabric != profile.device) {
    return "it was measured on another device, \"" + profile.device + "\"; hatrpcd uses \"" +
           daemon.fabric + "\"";
  }
  const auto measured = unix_seconds(profile.measured);
  if (!measured) return "it does not say when it was measured";
  const int64_t days = (examined.unix_now - *measured) / kSecondsOfDay;
  if (days > kDaysMax)
    return "it was measured " + plural(static_cast<size_t>(days), "day") + " ago";
  return "";
}

}  // namespace

void check_profile(const Examined& examined, Findings& findings) {
  // A file that does not exist is a finding of check_configuration().
  for (const NamedProfile& named : examined.file.profiles) {
    const Profile& profile = named.profile;
    const std::string why = why_stale(named, examined);
    if (why.empty()) {
      findings.ok(named.file, "costs of " + profile.costs.fabric + " to the peer " + profile.peer +
                                  ", " + profile.measured);
      continue;
    }
    const std::string peer = !named.peer.empty()     ? named.peer
                             : !profile.peer.empty() ? profile.peer
                                                     : "PEER";
    findings.warn(named.file, why, "hatctl calibrate " + peer + " --write " + named.file);
  }
}

}  // namespace hat::doctor
