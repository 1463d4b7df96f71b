// SPDX-License-Identifier: Apache-2.0
// config/node_checks.h: checks values of a node configuration that depend on the values of other
// keys. read_node_config() calls these functions.
#pragma once

#include <string>

#include "config/diagnostics.h"
#include "config/node.h"

namespace hat {

// Adds an error to `diagnostics` for each of these: an undefined peer, an address or a ring that is
// used twice, and links without a decision about their security.
void check_node(const NodeConfig& node, Diagnostics& diagnostics);

// Adds an error if a file that the daemon writes, `learned`, `access_log.path` or `tracing.path`,
// has another use too. `file` is the node configuration. All paths must be absolute, or relative to
// the same directory.
void check_written_files(const NodeConfig& node, const std::string& file, Diagnostics& diagnostics);

}  // namespace hat
