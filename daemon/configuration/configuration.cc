// SPDX-License-Identifier: Apache-2.0
#include "daemon/configuration/configuration.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <filesystem>

namespace hat {
namespace {

void mix(uint64_t& hash, uint64_t value) {
  hash = (hash ^ value) * 0x100000001b3;  // FNV-1a, 8 bytes at a time
}

void mix_file(uint64_t& hash, const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return mix(hash, 1);
  for (const char c : path) mix(hash, static_cast<unsigned char>(c));
  mix(hash, info.st_ino);
  mix(hash, static_cast<uint64_t>(info.st_size));
  mix(hash, static_cast<uint64_t>(info.st_mtim.tv_sec));
  mix(hash, static_cast<uint64_t>(info.st_mtim.tv_nsec));
}

// Mixes in a file, or a directory and its files.
void mix_path(uint64_t& hash, const std::string& path) {
  mix_file(hash, path);
  std::error_code error;
  std::vector<std::string> inside;
  for (const auto& entry : std::filesystem::directory_iterator(path, error)) {
    inside.push_back(entry.path());
  }
  std::ranges::sort(inside);
  for (const std::string& name : inside) mix_file(hash, name);
}

// Loads a profile into `profiles`. A file that does not exist is only a warning: the daemon must
// run before a profile can be measured and written.
void add_profile(const std::string& file, const SourceLocation& location, const std::string& peer,
                 std::vector<NamedProfile>& profiles, Diagnostics& diagnostics) {
  if (file.empty()) return;
  std::error_code error;
  if (std::filesystem::exists(file, error) || error) {
    const NamedProfile& read = profiles.emplace_back(file, peer, load_profile(file, diagnostics));
    const std::string& measured_with = read.profile.peer;
    const bool is_its =
        measured_with == peer || measured_with.starts_with(peer + "@");  // of a group
    if (!peer.empty() && !measured_with.empty() && !is_its) {
      diagnostics.warning(location, "peers." + peer + ".profile: " + file +
                                        " was measured with the peer " + measured_with +
                                        "; `hatctl calibrate " + peer + " --write " + file +
                                        "` measures with " + peer);
    }
    return;
  }
  diagnostics.warning(location, "profile: there is no " + file +
                                    " yet; the planner uses its built-in costs" +
                                    (peer.empty() ? "" : ", or those of the node's profile,") +
                                    " until `hatctl calibrate " + (peer.empty() ? "PEER" : peer) +
                                    " --write` writes this file");
}

std::vector<NamedProfile> load_profiles(const NodeConfig& node, Diagnostics& diagnostics) {
  std::vector<NamedProfile> profiles;
  add_profile(node.profile, node.profile_location, "", profiles, diagnostics);
  for (const PeerConfig& peer : node.peers) {
    add_profile(peer.profile, peer.profile_location, peer.name, profiles, diagnostics);
  }
  return profiles;
}

// Warns if the daemon could not append to the file of `key` now. The daemon runs all the same, but
// its `records` are lost. The path can be empty.
void check_appends_to(const std::string& path, const SourceLocation& location,
                      const std::string& key, const std::string& records,
                      Diagnostics& diagnostics) {
  if (path.empty()) return;
  std::error_code ignored;
  if (std::filesystem::is_directory(path, ignored)) {
    diagnostics.warning(location, key + ": " + path + " is a folder; until the key names a file, " +
                                      records + " are lost");
    return;
  }
  if (access(path.c_str(), W_OK) == 0) return;
  const std::string folder = std::filesystem::path(path).parent_path();
  const char* const tested = errno == ENOENT ? folder.c_str() : path.c_str();
  if (errno == ENOENT && access(folder.empty() ? "." : tested, W_OK | X_OK) == 0) return;
  diagnostics.warning(location, key + ": this user cannot write to " + std::string(tested) + ": " +
                                    std::strerror(errno) + "; until this is corrected, " + records +
                                    " are lost");
}

std::shared_ptr<const TlsContext> load_tls(const NodeConfig& node, Diagnostics& diagnostics) {
  if (!node.link.tls) return nullptr;
  const TlsConfig& config = *node.link.tls;
  if (config.certificate.empty() || config.key.empty() || config.ca.empty()) return nullptr;
  auto context = TlsContext::load(config);
  if (!context) {
    diagnostics.error(config.location, std::string(kTlsFilesPrefix) + context.error().message);
    return nullptr;
  }
  for (const std::string& warning : tls_warnings(**context, config, std::time(nullptr))) {
    diagnostics.warning(config.location, std::string(kTlsFilesPrefix) + warning);
  }
  return *context;
}

// Places the workers on cores, and decides which workers accept which connections.
void place(Configuration& configuration, Cores allowed, Diagnostics& diagnostics) {
  const NodeConfig& node = configuration.node;
  configuration.host = read_host_cores(node.fabric, std::move(allowed));
  auto workers = place_workers(node, configuration.host);
  if (!workers) {
    return diagnostics.error(node.worker_cores.location,
                             "worker_cores: " + workers.error().message);
  }
  configuration.workers = std::move(*workers);
  configuration.numa =
      resolve_numa_hints(node, configuration.manifest, configuration.workers, configuration.host);
  warn_of_hints(node, configuration.numa, diagnostics);
}

}  // namespace

Configuration load_configuration(const std::string& file, Diagnostics& diagnostics, Cores allowed) {
  Configuration configuration;
  configuration.node = load_node_config(file, diagnostics);
  configuration.fingerprint = fingerprint(file, configuration.node);
  configuration.manifest = load_manifests(configuration.node.manifests, diagnostics);
  configuration.profiles = load_profiles(configuration.node, diagnostics);
  if (!diagnostics.any_errors()) place(configuration, std::move(allowed), diagnostics);
  configuration.tls = load_tls(configuration.node, diagnostics);
  const NodeConfig& node = configuration.node;
  check_appends_to(node.access_log.path, node.access_log.location, "access_log.path",
                   "lines of calls", diagnostics);
  check_appends_to(node.tracing.path, node.tracing.location, "tracing.path", "spans of calls",
                   diagnostics);
  check_against(configuration.node, configuration.manifest, diagnostics);
  return configuration;
}

bool is_about_tls_files(const Diagnostic& diagnostic, const NodeConfig& node) {
  return node.link.tls && diagnostic.location == node.link.tls->location &&
         diagnostic.message.starts_with(kTlsFilesPrefix);
}

std::optional<std::string> why_unused(const NamedProfile& profile, std::string_view fabric) {
  const std::string& measured = profile.profile.costs.fabric;
  if (fabric.empty() || measured == fabric) return std::nullopt;
  return "profile " + profile.file + ": the costs of fabric " + measured +
         " are not used, because this node's fabric is " + std::string(fabric) +
         "; run `hatctl calibrate " + (profile.peer.empty() ? "PEER" : profile.peer) +
         " --write` to measure them";
}

void add_costs(const std::vector<NamedProfile>& profiles, std::string_view fabric,
               engine::HostFacts& host) {
  for (const NamedProfile& profile : profiles) {
    if (why_unused(profile, fabric)) continue;
    auto costs = std::make_shared<const ComponentCosts>(profile.profile.costs);
    (profile.peer.empty() ? host.measured : host.measured_with[profile.peer]) = std::move(costs);
  }
}

std::vector<std::string> services_of(const NodeConfig& node) {
  std::vector<std::string> services;
  for (const auto& endpoint : node.endpoints) services.push_back(endpoint.service);
  for (const auto& served : node.serves) services.push_back(served.service);
  return services;
}

uint64_t fingerprint(const std::string& file, const NodeConfig& node) {
  uint64_t hash = 0xcbf29ce484222325;
  mix_file(hash, file);
  if (!node.profile.empty()) mix_file(hash, node.profile);
  for (const PeerConfig& peer : node.peers) {
    if (!peer.profile.empty()) mix_file(hash, peer.profile);
  }
  if (const auto& tls = node.link.tls) {
    for (const std::string& path : {tls->certificate, tls->key, tls->ca, tls->crl})
      mix_file(hash, path);
  }
  for (const auto* paths : {&node.manifests, &node.peer_files}) {
    for (const ConfigPath& path : *paths) mix_path(hash, path.path);
  }
  return hash;
}

}  // namespace hat
