// SPDX-License-Identifier: Apache-2.0
// hatctl/what_if/what_if.h: the command `hatctl what-if`: shows which plans of a node would change
// on another host or with another fabric, whose costs a profile has. Needs no running daemon.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "config/profile.h"
#include "daemon/configuration/configuration.h"
#include "engine/plan/planner.h"
#include "hatctl/options.h"
#include "hatctl/terminal.h"

namespace hat::hatctl {

// Returns the facts from which the daemon plans with this configuration on this host, as far as
// they are known without opening an RDMA device. Assumes that a device or the fabric `loop` can be
// opened unless the configuration has `fabric: tcp`, and, with `fabric: auto`, that all profiles
// are of the fabric that the daemon opens.
engine::HostFacts facts_now(const Configuration& configuration);

// Returns `now` for a host with RDMA, with the costs of `profile` for calls to all peers, and with
// other cores. 0: as many as now; `cores` without `nic_cores`: all cores are near the NIC.
Result<engine::HostFacts> facts_then(engine::HostFacts now, const Profile& profile, uint32_t cores,
                                     uint32_t nic_cores);

// Returns warnings about profiles whose costs the node's daemon does not use, because they were
// measured on another fabric than the node's. `profile` was read from `file`.
std::vector<std::string> unused_profiles(const Configuration& configuration,
                                         const std::string& file, const Profile& profile);

// Compares the plans for `now` and `then` with the configuration in `file`. Returns the answer as
// JSON:
//   {"config": file, "now": {"cores", "nic_cores", "rdma"}, "then": {…}, "functions": 12,
//    "changes": [{"text": "HatKV.get: client: eager, busy → …", "reason": "…"}]}
// "functions" counts the functions that the manifests list. "reason" is that of the plan then; it
// is empty if only the protocol of replies changes.
nlohmann::json what_if(const std::string& file, const Configuration& configuration,
                       const engine::HostFacts& now, const engine::HostFacts& then);
std::string what_if_text(const nlohmann::json& answer, const Profile& profile,
                         const Terminal& terminal);

// Runs the command. Adds "profile", the name of the file, to the answer as JSON. Returns hatctl's
// exit status: kDone, kRefused if a file cannot be read or has errors, or kUsage if the options do
// not fit this host.
int run_what_if(const Options& options, const Terminal& terminal);

}  // namespace hat::hatctl
