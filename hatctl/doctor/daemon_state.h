// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/daemon_state.h: what the running daemon says of itself (its /status, see
// daemon/admin/admin_json.h), as plain data.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hat::doctor {

struct LaneState {
  std::string protocol;
  std::string state;  // "up", or why it carries no calls
  std::string last_error;
};

// To one peer, from all workers.
struct LinkState {
  uint64_t up = 0;
  uint64_t workers = 0;
  std::string last_error;
  std::vector<LaneState> lanes;
};

struct DaemonState {
  std::string socket;       // where it was asked
  std::string unreachable;  // why there is no answer; empty: the rest is what it says

  std::string node;
  std::string version;
  int pid = 0;  // in its own process namespace
  uint64_t workers = 0;
  std::string fabric;  // "verbs: …", "loop: …", "none, …"
  std::vector<std::string> pending;
  std::string reload_error;                // of the last reload, if it was refused
  std::map<std::string, LinkState> links;  // by peer

  bool answers() const { return unreachable.empty(); }
};

// Throws nlohmann::json::exception where the answer lacks what is read of it.
DaemonState read_daemon_state(const nlohmann::json& status, const std::string& socket);

}  // namespace hat::doctor
