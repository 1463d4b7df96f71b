// SPDX-License-Identifier: Apache-2.0
#include "config/node_changes.h"

#include <algorithm>
#include <tuple>

#include "base/cores.h"
#include "base/quantities.h"
#include "config/limit_keys.h"
#include "config/yaml.h"

namespace hat {
namespace {

using Lines = std::vector<std::string>;
using std::chrono_literals::operator""s;

std::string list_text(const std::vector<std::string>& items) {
  std::string text = "[";
  for (const std::string& item : items) text += (text.size() == 1 ? "" : ", ") + item;
  return text + "]";
}

std::string or_none(const std::string& text) { return text.empty() ? "none" : text; }

std::string address_text(const std::optional<Address>& address) {
  return address ? to_string(*address) : "none";
}

// Adds a line to `lines` if the texts of a setting differ.
void compare(Lines& lines, const std::string& what, const std::string& before,
             const std::string& after) {
  if (before != after) lines.push_back(what + ": " + before + " → " + after);
}

// Returns the text of a setting, as the file has it.
std::string text_of(bool setting) { return setting ? "true" : "false"; }
std::string text_of(int number) { return std::to_string(number); }
std::string text_of(UpstreamMode mode) {
  return std::string(kUpstreamModeWords[static_cast<size_t>(mode)]);
}
std::string text_of(ThriftTransport transport) {
  return std::string(kThriftTransportWords[static_cast<size_t>(transport)]);
}
std::string text_of(ThriftProtocol protocol) {
  return std::string(kThriftProtocolWords[static_cast<size_t>(protocol)]);
}
std::string text_of(FabricKind kind) {
  return std::string(kFabricWords[static_cast<size_t>(kind)]);
}
std::string text_of(const WorkerCores& cores) {
  if (cores.kind == WorkerCores::Kind::kListed) return cores_text(cores.cores);
  return cores.kind == WorkerCores::Kind::kNic ? "nic" : "auto";
}
template <class Setting>
std::string text_of(const std::optional<Setting>& setting) {
  return setting ? text_of(*setting) : "none";
}

// Returns the permission bits of a unix socket's path, as "0660".
std::string permissions_text(uint32_t mode) {
  std::string text = "0000";
  for (size_t i = 0; i < 3; ++i) text[3 - i] = static_cast<char>('0' + ((mode >> (3 * i)) & 7));
  return text;
}

// Returns a number for which 0 stands for a default.
std::string or_default(uint32_t number) { return number == 0 ? "default" : std::to_string(number); }

// Compares two lists whose elements have a key: calls `both` for elements of the same key, and adds
// a line for each element without a counterpart. `name` returns the first part of the line, and
// `detail` what follows "added".
template <class Config, class Key, class Name, class Detail, class Both>
void compare_lists(Lines& lines, const std::vector<Config>& before,
                   const std::vector<Config>& after, Key key, Name name, Detail detail, Both both) {
  for (const Config& old : before) {
    const auto next = std::ranges::find(after, std::invoke(key, old), key);
    if (next == after.end()) {
      lines.push_back(name(old) + ": removed");
    } else {
      both(old, *next);
    }
  }
  for (const Config& next : after) {
    if (std::ranges::find(before, std::invoke(key, next), key) != before.end()) continue;
    lines.push_back(name(next) + ": added, " + detail(next));
  }
}

void compare_peers(NodeChanges& changes, const NodeConfig& before, const NodeConfig& after) {
  Lines& lines = changes.applicable;
  compare_lists(
      lines, before.peers, after.peers, &PeerConfig::name,
      [](const PeerConfig& peer) { return "peers." + peer.name; }, &link_text,
      [&](const PeerConfig& old, const PeerConfig& next) {
        const std::string key = "peers." + old.name;
        compare(lines, key + ".link", link_text(old), link_text(next));
        compare(lines, key + ".identity", or_none(old.identity), or_none(next.identity));
        compare(lines, key + ".profile", or_none(old.profile), or_none(next.profile));
        compare(lines, key + ".weight", std::to_string(old.weight), std::to_string(next.weight));
        compare(lines, key + ".zone", or_none(old.zone), or_none(next.zone));
      });
}

void compare_endpoints(NodeChanges& changes, const NodeConfig& before, const NodeConfig& after) {
  Lines& lines = changes.applicable;
  compare_lists(
      lines, before.endpoints, after.endpoints, &EndpointConfig::listen,
      [](const EndpointConfig& endpoint) { return "endpoint " + to_string(endpoint.listen); },
      [](const EndpointConfig& endpoint) {
        return "offers " + endpoint.service + " of peers " + list_text(endpoint.peers);
      },
      [&](const EndpointConfig& old, const EndpointConfig& next) {
        const std::string key = "endpoint " + to_string(old.listen);
        compare(lines, key + ": service", old.service, next.service);
        compare(lines, key + ": peers", list_text(old.peers), list_text(next.peers));
        compare(changes.need_takeover, key + ": mode", permissions_text(old.mode),
                permissions_text(next.mode));
        compare(changes.need_takeover, key + ": group", or_none(old.group), or_none(next.group));
      });
}

// Adds a line if the order of the endpoints has changed: other settings refer to their positions.
void compare_order(Lines& lines, const NodeConfig& before, const NodeConfig& after) {
  std::vector<std::string> texts[2];
  for (const EndpointConfig& one : before.endpoints) texts[0].push_back(to_string(one.listen));
  for (const EndpointConfig& one : after.endpoints) texts[1].push_back(to_string(one.listen));
  if (texts[0] == texts[1] || !std::ranges::is_permutation(texts[0], texts[1])) return;
  lines.push_back("endpoints: order " + list_text(texts[0]) + " → " + list_text(texts[1]));
}

void compare_serves(NodeChanges& changes, const NodeConfig& before, const NodeConfig& after) {
  Lines& lines = changes.applicable;
  compare_lists(
      lines, before.serves, after.serves, &ServedConfig::service,
      [](const ServedConfig& served) { return "serves." + served.service; }, &upstream_text,
      [&](const ServedConfig& old, const ServedConfig& next) {
        const std::string key = "serves." + old.service;
        compare(lines, key + ".upstream", upstream_text(old), upstream_text(next));
        compare(lines, key + ".ring", address_text(old.ring), address_text(next.ring));
        compare(lines, key + ".mode", text_of(old.mode), text_of(next.mode));
        compare(lines, key + ".max_connections", or_default(old.connections_max),
                or_default(next.connections_max));
        compare(lines, key + ".thrift_transport", text_of(old.thrift_transport),
                text_of(next.thrift_transport));
        compare(lines, key + ".thrift_protocol", text_of(old.thrift_protocol),
                text_of(next.thrift_protocol));
      });
}

void compare_limits(NodeChanges& changes, const Limits& before, const Limits& after) {
  Lines& lines = changes.applicable;
#define HAT_SIZE(member, key, standard, min, max, meaning)                     \
  compare(lines, std::string("limits.") + key, exact_size_text(before.member), \
          exact_size_text(after.member));
#define HAT_COUNT(member, key, standard, min, max, meaning)                   \
  compare(lines, std::string("limits.") + key, std::to_string(before.member), \
          std::to_string(after.member));
#define HAT_TIME(member, key, standard, min, max, meaning)                   \
  compare(lines, std::string("limits.") + key, duration_text(before.member), \
          duration_text(after.member));
  HAT_SIZE_LIMITS(HAT_SIZE)
  HAT_COUNT_LIMITS(HAT_COUNT)
  HAT_TIME_LIMITS(HAT_TIME)
#undef HAT_TIME
#undef HAT_COUNT
#undef HAT_SIZE
}

void compare_files(NodeChanges& changes, const NodeConfig& before, const NodeConfig& after) {
  Lines& lines = changes.applicable;
  const auto text = [](const std::vector<ConfigPath>& paths) {
    std::vector<std::string> all;
    for (const ConfigPath& path : paths) all.push_back(path.path);
    return list_text(all);
  };
  compare(lines, "zone", or_none(before.zone), or_none(after.zone));
  compare(lines, "manifests", text(before.manifests), text(after.manifests));
  compare(lines, "peer_files", text(before.peer_files), text(after.peer_files));
  compare(lines, "profile", or_none(before.profile), or_none(after.profile));
  if (!before.link.tls || !after.link.tls) return;
  const TlsConfig& old = *before.link.tls;
  const TlsConfig& next = *after.link.tls;
  compare(lines, "link.tls.certificate", old.certificate, next.certificate);
  compare(lines, "link.tls.key", old.key, next.key);
  compare(lines, "link.tls.ca", old.ca, next.ca);
  compare(lines, "link.tls.crl", or_none(old.crl), or_none(next.crl));
}

void compare_metrics(NodeChanges& changes, const AdminConfig& before, const AdminConfig& after) {
  Lines& lines = changes.applicable;
  compare(lines, "admin.duration_buckets", duration_buckets_text(before.duration_buckets),
          duration_buckets_text(after.duration_buckets));
  compare(lines, "admin.max_functions", std::to_string(before.functions_max),
          std::to_string(after.functions_max));
}

void compare_access_log(NodeChanges& changes, const AccessLogConfig& before,
                        const AccessLogConfig& after) {
  Lines& lines = changes.applicable;
  const auto time = [](const AccessLogConfig& log) {
    return log.slower_than ? duration_text(*log.slower_than) : "none";
  };
  compare(lines, "access_log.path", or_none(before.path), or_none(after.path));
  compare(lines, "access_log.sample_one_in", std::to_string(before.sample_one_in),
          std::to_string(after.sample_one_in));
  compare(lines, "access_log.slower_than", time(before), time(after));
  compare(lines, "access_log.failed", text_of(before.failed), text_of(after.failed));
}

void compare_fabric(NodeChanges& changes, const FabricConfig& before, const FabricConfig& after) {
  Lines& lines = changes.need_takeover;
  compare(lines, "fabric.kind", text_of(before.kind), text_of(after.kind));
  compare(lines, "fabric.device", or_none(before.device), or_none(after.device));
  compare(lines, "fabric.port", or_default(before.port), or_default(after.port));
  const auto gid = [](int index) { return index < 0 ? "default" : std::to_string(index); };
  compare(lines, "fabric.gid_index", gid(before.gid_index), gid(after.gid_index));
  compare(lines, "fabric.max_pinned", exact_size_text(before.pinned_bytes_max),
          exact_size_text(after.pinned_bytes_max));
  compare(lines, "fabric.loop_folder", or_none(before.loop_folder), or_none(after.loop_folder));
  if (before.faults != after.faults) lines.push_back("fabric.faults: changed");
}

void compare_fixed(NodeChanges& changes, const NodeConfig& before, const NodeConfig& after) {
  Lines& lines = changes.need_takeover;
  compare(lines, "node", before.node, after.node);
  compare_fabric(changes, before.fabric, after.fabric);
  compare(lines, "workers", std::to_string(before.workers), std::to_string(after.workers));
  compare(lines, "worker_cores", text_of(before.worker_cores), text_of(after.worker_cores));
  compare(lines, "worker_nice", text_of(before.worker_nice), text_of(after.worker_nice));
  compare(lines, "learned", or_none(before.learned), or_none(after.learned));
  compare(lines, "tracing.path", or_none(before.tracing.path), or_none(after.tracing.path));
  compare(lines, "link.listen", address_text(before.link.listen), address_text(after.link.listen));
  compare(lines, "link.insecure", text_of(before.link.insecure), text_of(after.link.insecure));
  const auto allow = [](const NodeConfig& node) {
    return node.link.tls ? list_text(node.link.tls->allow) : "no TLS";
  };
  compare(lines, "link.tls.allow", allow(before), allow(after));
  compare(lines, "admin.listen", address_text(before.admin.listen),
          address_text(after.admin.listen));
  compare(lines, "admin.socket", or_none(before.admin.socket), or_none(after.admin.socket));
}

}  // namespace

NodeChanges node_changes(const NodeConfig& before, const NodeConfig& after) {
  NodeChanges changes;
  compare_peers(changes, before, after);
  compare_endpoints(changes, before, after);
  compare_order(changes.applicable, before, after);
  compare_serves(changes, before, after);
  compare_limits(changes, before.limits, after.limits);
  compare_files(changes, before, after);
  compare_metrics(changes, before.admin, after.admin);
  compare_access_log(changes, before.access_log, after.access_log);
  compare_fixed(changes, before, after);
  return changes;
}

bool same_link(const PeerConfig& a, const PeerConfig& b) {
  return a.link == b.link && a.identity == b.identity && a.group == b.group;
}

bool same_clients(const EndpointConfig& a, const EndpointConfig& b) {
  return a.listen == b.listen && a.service == b.service;
}

bool same_server(const ServedConfig& a, const ServedConfig& b) {
  const auto is_of_b = [&](const Address& one) {
    return std::ranges::find(b.addresses, one) != b.addresses.end();
  };
  const bool has_moved =
      !a.addresses.empty() && !b.addresses.empty() && std::ranges::none_of(a.addresses, is_of_b);
  const auto settings = [](const ServedConfig& served) {
    return std::tie(served.service, served.upstream, served.kind, served.mode,
                    served.connections_max, served.thrift_transport, served.thrift_protocol,
                    served.ring);
  };
  return !has_moved && settings(a) == settings(b);
}

}  // namespace hat
