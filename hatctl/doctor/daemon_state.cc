// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/daemon_state.h"

namespace hat::doctor {

using nlohmann::json;

DaemonState read_daemon_state(const json& status, const std::string& socket) {
  DaemonState state;
  state.socket = socket;
  state.node = status.at("node");
  state.version = status.at("version");
  state.pid = status.at("pid");
  state.workers = status.at("workers");
  state.fabric = status.at("fabric");
  state.fabric_kind = status.value("fabric_kind", "");
  state.pending = status.at("pending").get<std::vector<std::string>>();
  const json& reload = status.at("last_reload");
  if (!reload.at("successful").get<bool>()) state.reload_error = reload.at("error");
  for (const json& link : status.at("links")) {
    LinkState& all = state.links[link.at("peer").get<std::string>()];
    ++all.workers;
    all.up += link.at("up").get<bool>() ? 1u : 0u;
    all.idle += link.value("state", "") == "idle" ? 1u : 0u;
    if (const std::string error = link.at("last_error"); !error.empty()) all.last_error = error;
    for (const json& lane : link.at("lanes")) {
      all.lanes.push_back({lane.at("protocol"), lane.at("state"), lane.at("last_error")});
    }
  }
  return state;
}

}  // namespace hat::doctor
