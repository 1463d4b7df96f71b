// SPDX-License-Identifier: Apache-2.0
// daemon/configuration/configuration.h: everything a daemon reads, read and checked in one go.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "config/manifest.h"
#include "config/mistakes.h"
#include "config/node.h"
#include "config/profile.h"
#include "daemon/tls/tls_context.h"
#include "engine/plan/planner.h"

namespace hat {

// Before what is wrong with the files that `link.tls` names.
inline constexpr std::string_view kTlsFilesPrefix = "link.tls: ";

struct Configuration {
  NodeConfig node;
  Manifest manifest;
  std::optional<Profile> profile;         // none: the node names none, or there is none yet
  std::shared_ptr<const TlsContext> tls;  // null: links have no TLS
  std::string node_text;                  // of the node's file, to tell whether it changed
  uint64_t fingerprint = 0;               // of all files, before they were read
};

// Every mistake of every file goes to `mistakes`; the result is meaningful if none is an error.
Configuration load_configuration(const std::string& file, Mistakes& mistakes);

// The services that the node's endpoints and `serves` name.
std::vector<std::string> services_of(const NodeConfig& node);

// A number that changes when any of the files that load_configuration() reads does: by name, size,
// time and inode, through links, so that a renamed symlink (a Kubernetes ConfigMap) counts too.
uint64_t fingerprint(const std::string& file, const NodeConfig& node);

}  // namespace hat
