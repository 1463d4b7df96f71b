// SPDX-License-Identifier: Apache-2.0
// config/config_paths.h: files and folders of files that the node's configuration names.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"

namespace hat {

struct ConfigPath {
  std::string path;         // a file or a directory
  SourceLocation location;  // the position of this path in the node's configuration

  // Compares only the paths.
  friend bool operator==(const ConfigPath& a, const ConfigPath& b) { return a.path == b.path; }
};

// Returns the files that `paths` name. Of a directory, these are the files *.yaml and *.yml whose
// name does not begin with ".", in the order of names; follows symbolic links. Adds an error, which
// begins with `key`, for a path that does not exist or cannot be read.
std::vector<std::string> config_files(std::string_view key, const std::vector<ConfigPath>& paths,
                                      Diagnostics& diagnostics);

}  // namespace hat
