// SPDX-License-Identifier: Apache-2.0
// daemon/configuration/configuration.h: reads and checks all configuration files of a daemon at
// once.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/diagnostics.h"
#include "config/manifest.h"
#include "config/node.h"
#include "config/numa_hints.h"
#include "config/profile.h"
#include "config/worker_placement.h"
#include "daemon/tls/tls_context.h"
#include "engine/plan/planner.h"

namespace hat {

// The first words of each diagnostic about the files that `link.tls` names.
inline constexpr std::string_view kTlsFilesPrefix = "link.tls: ";

struct Configuration {
  NodeConfig node;
  Manifest manifest;
  std::vector<NamedProfile> profiles;     // those that exist: the file may not be written yet
  std::shared_ptr<const TlsContext> tls;  // null if links do not use TLS
  HostCores host;
  std::vector<WorkerPlacement> workers;  // at least one, if the configuration has no error
  NumaHints numa;
  uint64_t fingerprint = 0;  // fingerprint() of all files
};

// Reads all files, and adds every error and warning to `diagnostics`. The result may be used only
// if `diagnostics` has no error. Computes `fingerprint` after it has read the node's configuration
// file, which names the other files, and before it reads the other files. If any file changes after
// that, a later fingerprint() differs from this number, and the change is noticed. `allowed` are
// the cores on which the daemon may run.
Configuration load_configuration(const std::string& file, Diagnostics& diagnostics,
                                 Cores allowed = allowed_cores());

// Returns true if the diagnostic is about the files that `link.tls` names.
bool is_about_tls_files(const Diagnostic& diagnostic, const NodeConfig& node);

// Returns a text that says why the profile is not used, if it was measured on another fabric than
// `fabric`, the node's: "loop" or "verbs". Returns nullopt if the profile is used, or if `fabric`
// is empty because the node has no RDMA fabric or because its fabric is not known.
std::optional<std::string> why_unused(const NamedProfile& profile, std::string_view fabric);
// Adds the costs of the profiles that are used to `host`.
void add_costs(const std::vector<NamedProfile>& profiles, std::string_view fabric,
               engine::HostFacts& host);

// Returns the services that `endpoints` and `serves` of the node's file name.
std::vector<std::string> services_of(const NodeConfig& node);

// Returns a number that changes when a file that load_configuration() reads changes its name, size,
// modification time or inode. Follows symbolic links, so that a replaced link (as in a Kubernetes
// ConfigMap) also changes the number.
uint64_t fingerprint(const std::string& file, const NodeConfig& node);

}  // namespace hat
