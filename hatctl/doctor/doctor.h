// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/doctor.h: the command `hatctl doctor`: reads the host, the configuration,
// the daemon and the peers, judges, and prints.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "config/node.h"
#include "hatctl/options.h"
#include "hatctl/terminal.h"

namespace hat::doctor {

// Returns hatctl's exit status: kDone where nothing fails, kRefused where something does, kUsage
// for a peer that the configuration does not have.
int run_doctor(const hatctl::Options& options, const hatctl::Terminal& terminal);

// The peers of these names; all of them, where there are none.
Result<std::vector<PeerConfig>> peers_named(const NodeConfig& node,
                                            const std::vector<std::string>& names);

}  // namespace hat::doctor
