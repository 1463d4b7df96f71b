// SPDX-License-Identifier: Apache-2.0
#include "hatctl/what_if/what_if.h"

#include <cstdio>

#include "base/quantities.h"
#include "daemon/routing/route_changes.h"
#include "hatctl/node_file.h"
#include "hatctl/run.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;

json facts_json(const engine::HostFacts& host) {
  return {{"cores", host.cores}, {"nic_cores", host.nic_cores}, {"rdma", host.rdma}};
}

std::string facts_text(const json& facts) {
  const uint64_t cores = facts.at("cores");
  const uint64_t near = facts.at("nic_cores");
  return plural(cores, "core") +
         (near == cores ? std::string() : ", " + std::to_string(near) + " near the NIC") +
         (facts.at("rdma").get<bool>() ? "" : ", without RDMA");
}

// Reads the node's configuration, and prints its warnings. Ignores the files of `link.tls`, which
// decide no plan.
Result<Configuration> read_configuration(const std::string& file) {
  Diagnostics read;
  // The daemon may be bound to other cores than hatctl.
  Configuration configuration = load_configuration(file, read, read_online_cores());
  Diagnostics found;
  for (const Diagnostic& one : read.all()) {
    if (is_about_tls_files(one, configuration.node)) continue;
    const bool fatal = one.severity == Diagnostic::Severity::kError;
    fatal ? found.error(one.location, one.message) : found.warning(one.location, one.message);
  }
  if (found.any_errors()) return fail(ErrorCode::kInvalid, found.text());
  std::fputs(found.text().c_str(), stderr);
  return configuration;
}

Result<Profile> read_profile_file(const std::string& file) {
  Diagnostics diagnostics;
  Profile profile = load_profile(file, diagnostics);
  if (diagnostics.any_errors()) return fail(ErrorCode::kInvalid, diagnostics.text());
  return profile;
}

// Returns the fabric that the configuration states; empty if it leaves the choice to the daemon.
std::string_view stated_fabric(FabricKind kind) {
  const bool is_stated = kind == FabricKind::kLoop || kind == FabricKind::kVerbs;
  return is_stated ? kFabricWords[static_cast<size_t>(kind)] : "";
}

}  // namespace

engine::HostFacts facts_now(const Configuration& configuration) {
  engine::HostFacts host = engine::this_host();
  const FabricKind kind = configuration.node.fabric.kind;
  host.rdma = kind != FabricKind::kTcp;
  host.rdma_absent_reason = host.rdma ? "" : "fabric: tcp";
  // The fabric `loop` uses no device: all cores are equally near.
  if (kind != FabricKind::kLoop) {
    host.nic_cores = count_nic_cores(configuration.host, host.cores);
  }
  add_costs(configuration.profiles, stated_fabric(kind), host);
  return host;
}

Result<engine::HostFacts> facts_then(engine::HostFacts now, const Profile& profile, uint32_t cores,
                                     uint32_t nic_cores) {
  engine::HostFacts then = std::move(now);
  if (cores != 0) then.cores = then.nic_cores = cores;
  if (nic_cores != 0) then.nic_cores = nic_cores;
  if (then.nic_cores > then.cores) {
    return fail(ErrorCode::kInvalid, "--nic-cores " + std::to_string(then.nic_cores) +
                                         " is more than the host's " + plural(then.cores, "core") +
                                         (cores == 0 ? "; give --cores too" : ""));
  }
  then.rdma = true;
  then.rdma_absent_reason.clear();
  then.measured = std::make_shared<const ComponentCosts>(profile.costs);
  then.measured_with.clear();
  return then;
}

std::vector<std::string> unused_profiles(const Configuration& configuration,
                                         const std::string& file, const Profile& profile) {
  const std::string_view fabric = stated_fabric(configuration.node.fabric.kind);
  std::vector<std::string> warnings;
  for (const NamedProfile& one : configuration.profiles) {
    if (auto why = why_unused(one, fabric)) warnings.push_back(*std::move(why));
  }
  if (!fabric.empty() && profile.costs.fabric != fabric) {
    warnings.push_back(file + ": its costs are those of fabric " + profile.costs.fabric +
                       ", and this node has `fabric: " + std::string(fabric) +
                       "`: its daemon would not use them");
  }
  return warnings;
}

json what_if(const std::string& file, const Configuration& configuration,
             const engine::HostFacts& now, const engine::HostFacts& then) {
  MetricsRegistry metrics(1);
  const NodeConfig& node = configuration.node;
  const auto table = [&](const engine::HostFacts& host) {
    return RoutingTable(1, configuration.manifest, services_of(node), host, metrics, node.serves,
                        node.limits.call_timeout);
  };
  const RoutingTable before = table(now);
  const RoutingTable after = table(then);
  size_t functions = 0;
  for (const auto& service : after.services()) functions += service->functions().size();
  json changes = json::array();
  for (const RouteChange& change : route_changes(before, after)) {
    if (change.only_reason) continue;
    changes.push_back({{"text", change.text}, {"reason", change.reason}});
  }
  return {{"config", file},
          {"now", facts_json(now)},
          {"then", facts_json(then)},
          {"functions", functions},
          {"changes", std::move(changes)}};
}

std::string what_if_text(const json& answer, const Profile& profile, const Terminal& terminal) {
  constexpr size_t kIndent = 6;
  const auto named = [](const std::string& text) { return text.empty() ? "" : ", " + text; };
  std::string text = "now:  " + facts_text(answer.at("now")) + "; " +
                     answer.at("config").get<std::string>() + "\n";
  text += "then: " + facts_text(answer.at("then")) + "; costs of " + profile.costs.fabric +
          named(profile.device) + named(profile.measured) + "\n\n";
  const json& changes = answer.at("changes");
  for (const json& change : changes) {
    text += change.at("text").get<std::string>() + "\n";
    const std::string reason = change.at("reason");
    if (reason.empty()) continue;
    text += std::string(kIndent, ' ') + wrapped(reason, kIndent, terminal.columns) + "\n";
  }
  const std::string of = " (" + plural(answer.at("functions").get<size_t>(), "listed function") +
                         ", and the others of each service)\n";
  return text + (changes.empty() ? "no plan would change" : plural(changes.size(), "change")) + of;
}

int run_what_if(const Options& options, const Terminal& terminal) {
  const auto profile = read_profile_file(options.profile);
  if (!profile) return complain(profile.error().message, kRefused);
  const NodeFileName file = node_file_name(options);
  const auto configuration = read_configuration(file.path);
  if (!configuration) {
    return complain(configuration.error().message + "(" + file.path + " is " + file.why + ")",
                    kRefused);
  }
  for (const std::string& one : unused_profiles(*configuration, options.profile, *profile)) {
    std::fprintf(stderr, "warning: %s\n", one.c_str());
  }
  const engine::HostFacts now = facts_now(*configuration);
  const auto then = facts_then(now, *profile, options.cores, options.nic_cores);
  if (!then) return complain(then.error().message, kUsage);
  json answer = what_if(file.path, *configuration, now, *then);
  answer["profile"] = options.profile;
  const std::string text =
      options.json ? answer.dump(2) + "\n" : what_if_text(answer, *profile, terminal);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return kDone;
}

}  // namespace hat::hatctl
