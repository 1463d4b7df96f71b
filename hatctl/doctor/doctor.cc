// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/doctor.h"

#include <event2/event.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <future>
#include <iostream>

#include "base/nearest_word.h"
#include "base/owned.h"
#include "base/quantities.h"
#include "daemon/configuration/configuration.h"
#include "daemon/discovery/expand.h"
#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/read_host.h"
#include "hatctl/doctor/report.h"
#include "hatctl/http_client.h"
#include "hatctl/node_file.h"
#include "hatctl/run.h"

namespace hat::doctor {
namespace {

// Chooses the configuration file to judge: sets file.path, file.why and file.present.
void choose_node_file(const hatctl::Options& options, NodeFile& file) {
  auto [path, why, is_default] = hatctl::node_file_name(options);
  std::error_code error;
  file.present = !is_default || std::filesystem::exists(path, error) || error;
  file.path = std::move(path);
  file.why = std::move(why);
}

// Reads the configuration file into `examined.file`, and the files of `link.tls` into
// `examined.tls`.
void read_node_file(const hatctl::Options& options, Examined& examined) {
  NodeFile& file = examined.file;
  choose_node_file(options, file);
  if (!file.present) return;
  Diagnostics diagnostics;
  // The daemon may be bound to other cores than hatctl. The check `numa` judges `worker_cores` with
  // the daemon's own cores.
  Configuration read = load_configuration(file.path, diagnostics, read_online_cores());
  for (const Diagnostic& diagnostic : diagnostics.all()) {
    const bool fatal = diagnostic.severity == Diagnostic::Severity::kError;
    if (!is_about_tls_files(diagnostic, read.node)) {
      fatal ? file.diagnostics.error(diagnostic.location, diagnostic.message)
            : file.diagnostics.warning(diagnostic.location, diagnostic.message);
    } else if (fatal) {  // check_security() reports it, with the commands that repair it
      examined.tls.error = diagnostic.message.substr(kTlsFilesPrefix.size());
    }
  }
  if (file.diagnostics.any_errors()) return;
  file.node = std::move(read.node);
  file.profiles = std::move(read.profiles);
  file.summary = "node " + file.node.node + ", " + plural(file.node.peers.size(), "peer") + ", " +
                 plural(file.node.endpoints.size(), "endpoint") + ", " +
                 plural(file.node.serves.size(), "served service");
  if (file.node.link.tls) examined.tls.files = look_at(*file.node.link.tls);
  if (read.tls) {
    examined.tls.certificate = read.tls->certificate();
    examined.tls.authorities = read.tls->authorities();
  }
}

DaemonState ask_daemon(const hatctl::Options& options, const NodeConfig& node) {
  const bool configured = !options.socket_named && !node.admin.socket.empty();
  const std::string socket = configured ? node.admin.socket : options.socket;
  const auto answer = hatctl::HttpClient(socket).get("/status");
  if (!answer) return {.socket = socket, .unreachable = answer.error().message};
  if (answer->status != 200) {
    return {
        .socket = socket,
        .unreachable = socket + " answers " + std::to_string(answer->status) + ": " + answer->body};
  }
  try {
    return read_daemon_state(nlohmann::json::parse(answer->body), socket);
  } catch (const nlohmann::json::exception& error) {
    return {.socket = socket,
            .unreachable = socket + ": cannot parse the answer (" + error.what() +
                           "); it may not come from a hatrpcd of this version"};
  }
}

// Looks up the names in the peers' links as the daemon does.
std::vector<PeerConfig> look_up(const std::vector<PeerConfig>& peers,
                                std::chrono::nanoseconds longest) {
  const Owned<event_base, event_base_free> base(event_base_new());
  Discovery discovery(make_dns_resolver(base.get()));
  const NodeConfig node{.peers = peers};
  discovery.watch(lookups_of(node));
  discovery.wait_for_first_answers(longest);
  return expand(node, discovery).peers;
}

// Probes all peers at the same time, because each probe may take as long as its timeout.
std::vector<PeerProbe> probe_peers(const std::vector<PeerConfig>& peers,
                                   const DaemonState& daemon) {
  std::vector<std::future<PeerProbe>> asked;
  for (const PeerConfig& peer : peers) {
    const auto link = daemon.links.find(peer.name);
    const bool linked = link != daemon.links.end() && link->second.up != 0;
    asked.push_back(std::async(std::launch::async, probe_peer, peer, !linked));
  }
  std::vector<PeerProbe> probes;
  for (auto& one : asked) probes.push_back(one.get());
  return probes;
}

}  // namespace

Result<std::vector<PeerConfig>> peers_named(const NodeConfig& node,
                                            const std::vector<std::string>& names) {
  if (names.empty()) return node.peers;
  std::vector<std::string_view> known;
  for (const PeerConfig& peer : node.peers) known.push_back(peer.name);
  std::vector<PeerConfig> peers;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(node.peers, name, &PeerConfig::name);
    if (found == node.peers.end()) {
      return fail(ErrorCode::kNotFound,
                  "no peer is called '" + name + "'" + did_you_mean(name, known) +
                      "; `peers` in the configuration lists them (--config FILE)");
    }
    peers.push_back(*found);
  }
  return peers;
}

int run_doctor(const hatctl::Options& options, const hatctl::Terminal& terminal) {
  Examined examined{.version = HAT_VERSION, .unix_now = std::time(nullptr)};
  read_node_file(options, examined);
  const NodeConfig& node = examined.file.node;
  const auto peers = peers_named(node, options.peers);
  // If the configuration has errors, its peers are not known. The findings show these errors, so no
  // message about an unknown peer is printed.
  if (!peers && !examined.file.diagnostics.any_errors()) {
    std::cerr << "hatctl: " << peers.error().message << "\n";
    return hatctl::kUsage;
  }
  examined.daemon = ask_daemon(options, node);
  const bool answers = examined.daemon.answers();
  examined.host = read_host("", answers ? std::optional(examined.daemon.pid) : std::nullopt);
  if (examined.wants_device()) {
    const FabricConfig& fabric = node.fabric;
    examined.reports = engine::probe_devices(
        {.device = fabric.device, .port = fabric.port, .gid_index = fabric.gid_index});
  }
  if (peers) {
    examined.peers = probe_peers(look_up(*peers, node.limits.connect_timeout), examined.daemon);
  }
  const Findings findings = judge(examined);
  const std::string text = options.json ? report_json(examined, findings).dump(2) + "\n"
                                        : report_text(findings, terminal);
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
  return findings.count(Verdict::kFail) == 0 ? hatctl::kDone : hatctl::kRefused;
}

}  // namespace hat::doctor
