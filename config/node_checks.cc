// SPDX-License-Identifier: Apache-2.0
#include "config/node_checks.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <utility>

#include "base/nearest_word.h"
#include "config/names.h"
#include "config/upstream_rules.h"
#include "config/yaml.h"

namespace hat {
namespace {

// Checks values that depend on the values of other keys.
class Relations {
 public:
  Relations(const NodeConfig& node, Diagnostics& diagnostics)
      : node_(node), diagnostics_(diagnostics) {}

  void check() {
    check_endpoints();
    check_rings_of_servers();
    check_security();
    if (node_.link.listen) claim(*node_.link.listen, node_.link.location);
    if (node_.admin.listen) claim(*node_.admin.listen, node_.admin.location);
  }

 private:
  void check_endpoints() {
    std::vector<std::string_view> names;
    for (const PeerConfig& peer : node_.peers) names.push_back(peer.name);
    for (const EndpointConfig& endpoint : node_.endpoints) {
      claim(endpoint.listen, endpoint.location);
      if (endpoint.ring) claim(*endpoint.ring, endpoint.location);
      if (endpoint.peers.empty()) note_no_peers(endpoint);
      for (const std::string& peer : endpoint.peers) {
        if (std::ranges::find(names, peer) != names.end()) continue;
        diagnostics_.error(endpoint.location, "no peer is called '" + peer + "'" +
                                                  did_you_mean(peer, names) +
                                                  "; `peers` lists them");
      }
    }
  }

  // Files of peers may be empty at first, so an endpoint without peers is then no error.
  void note_no_peers(const EndpointConfig& endpoint) {
    const std::string what = "the endpoint has no `peers`, ";
    if (node_.peer_files.empty()) {
      diagnostics_.error(endpoint.location,
                         what + "no peer has '" + endpoint.service +
                             "' in its `serves`, and there are no `peer_files`; add one of them");
    } else {
      diagnostics_.warning(endpoint.location,
                           what + "and no peer, also of `peer_files`, has '" + endpoint.service +
                               "' in its `serves`: all calls at it fail until a peer has");
    }
  }

  // Reports an error if two servers have the same ring. The `allow` rules apply to each `upstream`,
  // so a service with another address of the same server could avoid them.
  void check_rings_of_servers() {
    for (const ServedConfig& other : node_.serves) {
      const auto owner = std::ranges::find_if(node_.serves, [&](const ServedConfig& each) {
        if (!each.ring) return false;
        const bool connects = other.upstream.is_path() && other.upstream.path == each.ring->path;
        const bool is_later = &other > &each;
        return connects || (is_later && other.ring == each.ring && other.upstream != each.upstream);
      });
      if (owner == node_.serves.end()) continue;
      diagnostics_.error(other.location, "serves." + other.service + ": the ring " +
                                             owner->ring->path + " is the one of serves." +
                                             owner->service + ", whose `upstream` is " +
                                             upstream_text(*owner) +
                                             "; write the same `upstream` here, or another ring");
    }
  }

  void check_security() {
    if (node_.link.insecure && node_.link.tls) {
      diagnostics_.error(node_.link.location,
                         "link has both `tls` and `insecure: true`; remove one of them");
    }
    for (const PeerConfig& peer : node_.peers) {
      if (peer.identity.empty() || node_.link.tls) continue;
      diagnostics_.error(peer.location,
                         "peers." + peer.name +
                             ".identity is compared with the peer's certificate, but `link` has no "
                             "`tls`; add `link.tls`, or remove `identity`");
    }
    if (node_.link.insecure || node_.link.tls) return;
    const std::string advice =
        "links need `tls: {certificate: FILE, key: FILE, ca: FILE}` under `link`; write `insecure: "
        "true` there instead only if the network between the nodes is trusted";
    if (node_.link.listen) {
      diagnostics_.error(node_.link.location, advice);
    } else if (!node_.peers.empty()) {
      diagnostics_.error(node_.peers.front().location, advice);
    }
  }

  // Records an address on which the node listens. Adds an error if the address was recorded before.
  // Ignores an address with port 0, because the kernel chooses a different port each time.
  void claim(const Address& address, const SourceLocation& location) {
    if (!address.is_path() && address.port == 0) return;
    // Two addresses with the same path name the same socket, even if their kinds (unix, shm)
    // differ.
    const auto [before, is_new] =
        claimed_.emplace(address.is_path() ? address.path : to_string(address), location);
    if (is_new) return;
    diagnostics_.error(
        location, to_string(address) + " is listed twice; first at " + to_string(before->second));
  }

  const NodeConfig& node_;
  Diagnostics& diagnostics_;
  std::map<std::string, SourceLocation> claimed_;
};

bool is_known_how_it_reads(const ServedConfig& served) {
  return served.thrift_transport &&
         (served.thrift_protocol || served.thrift_transport == ThriftTransport::kHeader);
}

// Reports an error if functions at one server have different `allow` rules but the manifest lacks
// signatures (the types of arguments) or the configuration lacks the server's transport. Without
// both, the daemon cannot check requests, and a request for an allowed function could hide a call
// of another function.
void check_signatures(const NodeConfig& node, const Manifest& manifest, Diagnostics& diagnostics) {
  for (const ServedConfig& served : node.serves) {
    if (!rules_at(served.upstream, node.serves, manifest).rules_differ) continue;
    const std::string where = "serves." + served.service +
                              ": `allow` restricts some peers to a part " + "of the functions at " +
                              upstream_text(served) + ", ";
    const auto found = std::ranges::find(manifest.services, served.service, &ServiceSpec::name);
    if (found == manifest.services.end() || found->functions.empty()) {
      diagnostics.error(served.location, where + "so a manifest must list the functions of " +
                                             served.service +
                                             " with their `arguments` (hintgen writes it)");
      continue;
    }
    const auto unsigned_one = std::ranges::find_if(
        found->functions, [](const FunctionSpec& function) { return !function.arguments; });
    if (unsigned_one != found->functions.end()) {
      diagnostics.error(served.location,
                        where + "but " + served.service + "." + unsigned_one->name +
                            " has no `arguments` in its manifest; write the manifest " +
                            "again with this version of hintgen");
    } else if (!is_known_how_it_reads(served)) {
      diagnostics.error(served.location,
                        where + "so hatrpcd must know how that server reads requests; add " +
                            "`thrift_transport` (framed, buffered or header) and " +
                            "`thrift_protocol` (binary, compact or json)");
    }
  }
}

// Warns of the hint `idempotent` if the daemon rarely has a use for it.
void check_idempotent(const ServedConfig& served, const ServiceSpec& service,
                      Diagnostics& diagnostics) {
  if (served.mode == UpstreamMode::kShared) return;
  std::vector<std::string> names;
  for (const FunctionSpec& function : service.functions) {
    const Hints hints = effective(function.hints, service.hints, Side::kClient);
    if (hints.idempotent.value_or(false)) names.push_back(function.name);
  }
  if (names.empty()) return;
  diagnostics.warning(served.location,
                      "serves." + served.service + ": the hint idempotent of " + names_text(names) +
                          " has little effect with mode: mirror, because a call is sent again only "
                          "if its client connection has not reached the server yet; set mode: "
                          "shared if the server keeps no state for a connection");
}

}  // namespace

void check_node(const NodeConfig& node, Diagnostics& diagnostics) {
  Relations(node, diagnostics).check();
}

void check_written_files(const NodeConfig& node, const std::string& file,
                         Diagnostics& diagnostics) {
  std::vector<std::string> used = {file, node.profile};
  for (const PeerConfig& peer : node.peers) used.push_back(peer.profile);
  for (const auto* paths : {&node.manifests, &node.peer_files}) {
    for (const ConfigPath& path : *paths) used.push_back(path.path);
  }
  if (const auto& tls = node.link.tls) {
    used.insert(used.end(), {tls->certificate, tls->key, tls->ca, tls->crl});
  }
  const auto check = [&](const std::filesystem::path& written, const SourceLocation& location,
                         const std::string& what) {
    for (std::filesystem::path other : used) {
      if (other.empty() || written.empty()) continue;
      if (!other.has_filename()) other = other.parent_path();  // "manifests/"
      if (written != other && written.parent_path() != other) continue;
      diagnostics.error(location, what + " " + in_quotes(written.string()) + ", but also uses " +
                                      in_quotes(other.string()) +
                                      "; expected a file that has no other use");
    }
  };
  check(node.learned, node.learned_location, "learned: the daemon replaces");
  used.push_back(node.learned);
  check(node.access_log.path, node.access_log.location, "access_log.path: the daemon appends to");
  used.push_back(node.access_log.path);
  check(node.tracing.path, node.tracing.location, "tracing.path: the daemon appends to");
}

void check_against(const NodeConfig& node, const Manifest& manifest, Diagnostics& diagnostics) {
  std::vector<std::string_view> names;
  for (const ServiceSpec& service : manifest.services) names.push_back(service.name);
  const auto check = [&](const std::string& service, const SourceLocation& location) {
    if (service.empty() || std::ranges::find(names, service) != names.end()) return;
    diagnostics.warning(location, "no manifest lists service '" + service + "'" +
                                      did_you_mean(service, names) +
                                      "; its calls use default plans");
  };
  const auto has_rule = [](const auto& spec) { return spec.access && !spec.access->dry_run; };
  const auto guarded = std::ranges::find_if(manifest.services, [&](const ServiceSpec& service) {
    return has_rule(service) || std::ranges::any_of(service.functions, has_rule);
  });
  if (guarded != manifest.services.end() && !node.serves.empty() && !node.link.tls) {
    diagnostics.warning(node.link.location, "a manifest restricts the callers of " + guarded->name +
                                                " (`allow`), but without link.tls no caller can "
                                                "prove its identity: such calls are refused");
  }
  for (const EndpointConfig& endpoint : node.endpoints) {
    // An endpoint with a ring is followed by the endpoint of this ring, with the same location.
    if (!endpoint.ring) check(endpoint.service, endpoint.location);
  }
  for (const ServedConfig& served : node.serves) {
    check(served.service, served.location);
    const auto found = std::ranges::find(manifest.services, served.service, &ServiceSpec::name);
    if (found != manifest.services.end()) check_idempotent(served, *found, diagnostics);
    const bool lists = found != manifest.services.end() && !found->functions.empty();
    if (served.mode != UpstreamMode::kShared || lists) continue;
    diagnostics.error(served.location,
                      "serves." + served.service +
                          ": mode: shared needs a manifest that lists the service's functions "
                          "(hintgen writes one): only calls of listed functions can share a "
                          "connection to the server");
  }
  check_signatures(node, manifest, diagnostics);
}

}  // namespace hat
