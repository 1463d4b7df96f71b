// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/daemon_state.h: the state that the running daemon reports in its /status (see
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
  std::string state;  // "up", or the reason why the lane carries no calls
  std::string last_error;
};

// The links to one peer: one of each worker of the daemon that needs it.
struct LinkState {
  uint64_t up = 0;  // the number of links that are up
  uint64_t workers = 0;
  std::string last_error;
  std::vector<LaneState> lanes;
  uint64_t idle = 0;  // the number of links that no client needs
};

struct DaemonState {
  std::string socket;  // the admin socket to which hatctl sent the request
  // Why the daemon gave no usable answer. If this text is empty, all other members are set.
  std::string unreachable;

  std::string node;
  std::string version;
  int pid = 0;  // the daemon's process id in the PID namespace of the daemon
  uint64_t workers = 0;
  std::string fabric;       // describes it, or says why there is none
  std::string fabric_kind;  // "verbs", "loop" or "none"; empty from older daemons
  std::vector<std::string> pending;
  std::string reload_error;  // why the daemon refused the last reload; empty: accepted
  std::map<std::string, LinkState> links;  // by peer

  bool answers() const { return unreachable.empty(); }
};

// Reads `status`, the answer to GET /status on the admin socket `socket`. Throws
// nlohmann::json::exception if the answer lacks a value that this function reads.
DaemonState read_daemon_state(const nlohmann::json& status, const std::string& socket);

}  // namespace hat::doctor
