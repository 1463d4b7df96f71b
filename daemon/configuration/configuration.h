// SPDX-License-Identifier: Apache-2.0
// daemon/configuration/configuration.h: reads and checks all files of a daemon at once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/diagnostics.h"
#include "config/manifest.h"
#include "config/node.h"
#include "config/profile.h"
#include "daemon/tls/tls_context.h"
#include "engine/plan/planner.h"

namespace hat {

// Begins each diagnostic about the files that `link.tls` names.
inline constexpr std::string_view kTlsFilesPrefix = "link.tls: ";

struct Configuration {
  NodeConfig node;
  Manifest manifest;
  std::optional<Profile> profile;         // none: not configured, or not written yet
  std::shared_ptr<const TlsContext> tls;  // null: links have no TLS
  std::string node_text;                  // of the node's file, to detect that it changed
  uint64_t fingerprint = 0;               // of all files; only the node's was read before
};

// Reads all files and adds every diagnostic to `mistakes`. The result is meaningful only if none is
// an error.
Configuration load_configuration(const std::string& file, Diagnostics& diagnostics);

// Returns the services that the node's endpoints and `serves` name.
std::vector<std::string> services_of(const NodeConfig& node);

// Returns a number that changes when a file that load_configuration() reads changes its name, size,
// time or inode. Follows links, so that a renamed symlink (a Kubernetes ConfigMap) counts too.
uint64_t fingerprint(const std::string& file, const NodeConfig& node);

}  // namespace hat
