// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_node.cc: checks the node's configuration files, the running daemon, and the
// node's peers.
#include <algorithm>

#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"

namespace hat::doctor {
namespace {

std::string joined_by_comma(const std::vector<std::string>& texts) {
  std::string all;
  for (const std::string& text : texts) all += (all.empty() ? "" : ", ") + text;
  return all;
}

// Reports a failure and returns false if the peer's name cannot be resolved or the peer cannot be
// reached. No further check of the peer is possible then.
bool judge_way(const Examined& examined, const PeerProbe& peer, Findings& findings) {
  const std::string address = to_string(peer.address);
  if (!peer.resolve_error.empty()) {
    const bool is_service = peer.link.starts_with("srv:");
    findings.fail(peer.name, peer.link + ": no address is known: " + peer.resolve_error,
                  (is_service ? "dig +search SRV " : "dig +search ") + peer.address.host +
                      "   # then DNS, /etc/hosts, or peers." + peer.name + ".link in " +
                      examined.file.path);
    return false;
  }
  if (!peer.connect_error.empty()) {
    const bool tcp = !peer.address.is_path();
    const std::string port = std::to_string(peer.address.port);
    findings.fail(peer.name, address + " cannot be reached: " + peer.connect_error,
                  tcp ? "ss -ltn 'sport = :" + port +
                            "'   # on that host: if nothing listens, start hatrpcd or correct "
                            "link.listen; else check firewalls: nft list ruleset"
                      : "ls -l " + peer.address.path + "   # check that its hatrpcd runs");
    return false;
  }
  return true;
}

void judge_path_mtu(const PeerProbe& peer, const Judged* choice, Findings& findings) {
  if (choice == nullptr || choice->gid == nullptr || peer.path_mtu == 0) return;
  // Judges the path MTU of the link's TCP connection only if that connection leaves this host from
  // the IP address of the RDMA device. Otherwise RDMA packets can take another path.
  if (engine::gid_text(choice->gid->bytes) != "::ffff:" + peer.own_ip &&
      engine::gid_text(choice->gid->bytes) != peer.own_ip) {
    return;
  }
  const std::string text = "the path to this peer passes packets of " +
                           std::to_string(peer.path_mtu) + " bytes, but " + choice->device->name +
                           "'s packets carry " + std::to_string(choice->packet_bytes);
  if (choice->packet_bytes + kRoceHeaderBytes <= peer.path_mtu) return;
  findings.warn(
      peer.name, text + ": RDMA packets are not fragmented, so they are lost",
      "ip link set dev " + choice->device->interface + " mtu " + std::to_string(peer.path_mtu));
}

void judge_lanes(const std::string& peer, const LinkState& link, Findings& findings) {
  std::vector<std::string> up;
  for (const LaneState& lane : link.lanes) {
    if (lane.state == "up") {
      if (std::ranges::find(up, lane.protocol) == up.end()) up.push_back(lane.protocol);
    } else if (!lane.last_error.empty()) {
      findings.warn(peer,
                    "RDMA lane " + lane.protocol + " is " + lane.state +
                        ", its calls use TCP: " + lane.last_error,
                    "hatctl status   # and docs/trouble.md");
    }
  }
  if (!up.empty()) findings.ok(peer, "RDMA lanes up: " + joined_by_comma(up));
}

void judge_peer(const Examined& examined, const PeerProbe& peer, const Judged* choice,
                Findings& findings) {
  const auto link = examined.daemon.links.find(peer.name);
  const bool known = examined.daemon.answers() && link != examined.daemon.links.end();
  const std::string address = to_string(peer.address);
  if (known && link->second.up != 0) {
    const uint64_t needed = link->second.workers - link->second.idle;
    const std::string text = address + ": " + std::to_string(link->second.up) + " of " +
                             std::to_string(needed) + " links up";
    if (link->second.up == needed) {
      findings.ok(peer.name, text);
    } else {
      findings.warn(peer.name, text + "; last error: " + link->second.last_error, "hatctl status");
    }
    judge_lanes(peer.name, link->second, findings);
    judge_path_mtu(peer, choice, findings);
    return;
  }
  if (!judge_way(examined, peer, findings)) return;
  if (known) {
    findings.fail(
        peer.name,
        address + " answers, but hatrpcd's link to it is down: " + link->second.last_error,
        "journalctl -u hatrpcd --since -5min   # on both hosts; search for the peer's name");
  } else {
    findings.ok(peer.name,
                address + " answers" + (peer.own_ip.empty() ? "" : ", from " + peer.own_ip));
  }
  judge_path_mtu(peer, choice, findings);
}

}  // namespace

void check_configuration(const Examined& examined, Findings& findings) {
  const NodeFile& file = examined.file;
  if (!file.present) {
    return findings.warn("",
                         "there is no " + file.path + " (" + file.why +
                             "): all keys are assumed to have their defaults",
                         "hatctl doctor --config FILE");
  }
  for (const Diagnostic& diagnostic : file.diagnostics.all()) {
    const bool error = diagnostic.severity == Diagnostic::Severity::kError;
    findings.add(error ? Verdict::kFail : Verdict::kWarn, to_string(diagnostic.location),
                 diagnostic.message,
                 "hatrpcd --check --config " + file.path + "   # after you have corrected it");
  }
  if (!file.diagnostics.any_errors()) findings.ok(file.path, file.summary + " (" + file.why + ")");
}

void check_daemon(const Examined& examined, Findings& findings) {
  const DaemonState& daemon = examined.daemon;
  if (!daemon.answers()) {
    return findings.warn("", daemon.unreachable, "systemctl start hatrpcd   # or --socket PATH");
  }
  const std::string who = "node " + daemon.node + ", hatrpcd " + daemon.version;
  if (daemon.version != examined.version) {
    findings.warn("", who + "; this is hatctl " + examined.version,
                  "systemctl restart hatrpcd   # if it was updated since it started");
  } else if (!daemon.pending.empty()) {
    findings.warn("", who + ": not ready, pending: " + joined_by_comma(daemon.pending),
                  "hatctl status");
  } else {
    findings.ok("", who + ", ready");
  }
  if (!daemon.reload_error.empty()) {
    findings.warn(
        "reload",
        "the last reload was refused, and the configuration before it stays in use: " +
            daemon.reload_error.substr(0, daemon.reload_error.find('\n')),
        "hatctl reload --dry-run   # shows all errors; after correcting them: hatctl reload");
  }
  if (!examined.host.daemon) {
    findings.warn("limits",
                  "process " + std::to_string(daemon.pid) +
                      " cannot be seen from here: the limits of hatctl are checked instead",
                  "hatctl doctor   # run it where hatrpcd runs, for example in its container");
  }
}

void check_peers(const Examined& examined, Findings& findings) {
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (examined.peers.empty())
    findings.ok("", "no peer is configured; other nodes may still call this node");
  for (const PeerProbe& peer : examined.peers) judge_peer(examined, peer, choice, findings);
}

}  // namespace hat::doctor
