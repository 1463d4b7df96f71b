// SPDX-License-Identifier: Apache-2.0
// hatctl/node_file.h: selects the configuration file of a node for the commands that read it.
#pragma once

#include <string>

#include "hatctl/options.h"

namespace hat::hatctl {

struct NodeFileName {
  std::string path;
  std::string why;          // "named by --config", …
  bool is_default = false;  // neither the user nor a running daemon has named it
};

// Returns the file that --config names, or else the file with which the daemon at `options.socket`
// was started, or else kDefaultConfig.
NodeFileName node_file_name(const Options& options);

}  // namespace hat::hatctl
