// SPDX-License-Identifier: Apache-2.0
#include "daemon/discovery/expand.h"

#include <netdb.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace hat {
namespace {

// Returns true if a connection to the host needs no lookup. So is "fe80::1%eth0" numeric.
bool is_numeric(const std::string& host) {
  addrinfo hints{};
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (getaddrinfo(host.c_str(), nullptr, &hints, &found) != 0) return false;
  freeaddrinfo(found);
  return true;
}

// Returns the lookup for an address; nothing if the address needs none.
std::optional<Lookup> lookup_of(const Address& address) {
  if (address.is_path() || is_numeric(address.host)) return std::nullopt;
  return Lookup{Lookup::Kind::kHost, address.host, address.port};
}

// Returns the lookup for an address or a name of services.
std::optional<Lookup> lookup_of(const Address& address, NameKind kind) {
  if (kind != NameKind::kService) return lookup_of(address);
  return Lookup{Lookup::Kind::kService, address.host, 0};
}

std::string reason_of(const Lookup& lookup, const Discovery::Name& name) {
  return name.error.empty() ? "'" + lookup.name + "' has not been looked up yet" : name.error;
}

PeerConfig member_at(const Address& address, const PeerConfig& group) {
  constexpr std::string_view kPrefix = "tcp:";
  PeerConfig member = group;
  member.name += "@" + to_string(address).substr(kPrefix.size());
  member.kind = NameKind::kAddress;
  member.link = address;
  member.group = group.name;
  return member;
}

// Returns the peers for one peer of the file; at least one.
std::vector<PeerConfig> members_of(const PeerConfig& peer, const Discovery& discovery) {
  std::vector<Address> addresses = {peer.link};
  if (const auto lookup = lookup_of(peer.link, peer.kind)) {
    const Discovery::Name& name = discovery.find(*lookup);
    if (name.addresses.empty()) {
      PeerConfig unknown = peer;
      unknown.why_unknown = reason_of(*lookup, name);
      return {unknown};
    }
    addresses = name.addresses;
  }
  if (peer.kind == NameKind::kAddress) {
    PeerConfig known = peer;
    known.link = addresses.front();
    return {known};
  }
  std::vector<PeerConfig> members;
  for (const Address& address : addresses) members.push_back(member_at(address, peer));
  return members;
}

}  // namespace

std::vector<Lookup> lookups_of(const NodeConfig& node) {
  std::vector<Lookup> all;
  const auto add = [&all](std::optional<Lookup> lookup) {
    if (lookup && std::ranges::find(all, *lookup) == all.end()) all.push_back(std::move(*lookup));
  };
  for (const PeerConfig& peer : node.peers) add(lookup_of(peer.link, peer.kind));
  for (const ServedConfig& served : node.serves) add(lookup_of(served.upstream, served.kind));
  return all;
}

NodeConfig expand(const NodeConfig& node, const Discovery& discovery) {
  NodeConfig expanded = node;
  expanded.peers.clear();
  std::map<std::string, std::vector<std::string>> members;  // by the peer's name in the file
  for (const PeerConfig& peer : node.peers) {
    for (PeerConfig& member : members_of(peer, discovery)) {
      members[peer.name].push_back(member.name);
      expanded.peers.push_back(std::move(member));
    }
  }
  for (EndpointConfig& endpoint : expanded.endpoints) {
    std::vector<std::string> peers;
    for (const std::string& peer : endpoint.peers) {
      std::ranges::copy(members.at(peer), std::back_inserter(peers));
    }
    endpoint.peers = std::move(peers);
  }
  for (ServedConfig& served : expanded.serves) {
    const auto lookup = lookup_of(served.upstream, served.kind);
    if (!lookup) {
      if (served.kind == NameKind::kAllOfHost) served.addresses = {served.upstream};
      continue;
    }
    const Discovery::Name& name = discovery.find(*lookup);
    served.addresses = name.addresses;
    if (name.addresses.empty()) served.why_unknown = reason_of(*lookup, name);
  }
  return expanded;
}

}  // namespace hat
