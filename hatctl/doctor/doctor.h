// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/doctor.h: the command `hatctl doctor`: reads facts about the host, the
// configuration, the daemon and the peers, judges them, and prints the findings.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "hatctl/options.h"
#include "hatctl/terminal.h"

namespace hat::doctor {

// Runs the command and returns hatctl's exit status: kDone if no finding is a failure, kRefused if
// a finding is a failure, and kUsage if the user names a peer that the configuration does not have.
int run_doctor(const hatctl::Options& options, const hatctl::Terminal& terminal);

// Returns the peers with these names, or all peers if `names` is empty. Returns an error if a name
// is unknown.
Result<std::vector<PeerConfig>> peers_named(const NodeConfig& node,
                                            const std::vector<std::string>& names);

}  // namespace hat::doctor
