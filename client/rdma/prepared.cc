// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/prepared.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/owned.h"
#include "base/whole_file.h"
#include "client/rdma/application_reactor.h"

namespace hatrpc::rdma {
namespace {

using hat::Diagnostics;
using hat::ErrorCode;
using hat::fail;
using hat::NodeConfig;
using hat::Result;

// A text of the settings, and the name that diagnostics give it.
struct Source {
  std::string text;
  std::string file;
};

Result<Source> source_of(const std::string& text, const std::string& file, const char* name) {
  if (!text.empty() || file.empty()) return Source{text, name};
  HAT_TRY(hat::WholeFile read, hat::read_whole(file));
  return Source{std::move(read.text), file};
}

// Returns the host's name, or "application" if it is not allowed as the name of a node.
std::string host_name() {
  std::array<char, 256> text{};
  gethostname(text.data(), text.size() - 1);
  const std::string name = text.data();
  const auto is_allowed = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '.' || c == '-' || c == '_';
  };
  return !name.empty() && std::ranges::all_of(name, is_allowed) ? name : "application";
}

// Checks the values that depend on each other. The text has no address to listen at.
void check(const NodeConfig& node, Diagnostics& diagnostics) {
  const auto error = [&](const std::string& message) {
    diagnostics.error(node.link.location, message);
  };
  if (node.link.listen) error("link.listen: the arguments of TServerRdma have the address");
  if (node.link.insecure && node.link.tls) {
    error("link has both `tls` and `insecure: true`; remove one of them");
  }
  if (node.link.insecure || node.link.tls) return;
  error(
      "links need `tls: {certificate: FILE, key: FILE, ca: FILE}`; write `insecure: true` instead "
      "only if the network is trusted");
}

Result<Prepared> prepare(const RdmaOptions& options, Diagnostics& diagnostics) {
  HAT_TRY(const Source config,
          source_of(options.config, options.config_file, "RdmaOptions::config"));
  HAT_TRY(const Source manifest,
          source_of(options.manifest, options.manifest_file, "RdmaOptions::manifest"));
  Prepared prepared;
  NodeConfig& node = prepared.node;
  node = hat::read_application_config(config.text, config.file, diagnostics);
  if (!diagnostics.any_errors()) check(node, diagnostics);
  if (node.node.empty()) node.node = host_name();
  if (!manifest.text.empty()) {
    prepared.manifest = hat::read_manifest(manifest.text, manifest.file, diagnostics);
  }
  if (!node.profile.empty() && std::filesystem::exists(node.profile)) {
    prepared.profiles.emplace_back(node.profile, "", hat::load_profile(node.profile, diagnostics));
  }
  return prepared;
}

Result<Prepared> finish(Prepared prepared, Diagnostics& diagnostics) {
  if (!diagnostics.any_errors()) {
    hat::check_against(prepared.node, prepared.manifest, diagnostics);
  }
  if (diagnostics.any_errors()) return fail(ErrorCode::kInvalid, diagnostics.text());
  if (prepared.node.link.tls) {
    HAT_TRY(prepared.tls, hat::TlsContext::load(*prepared.node.link.tls));
  }
  return prepared;
}

Result<std::vector<std::string>> addresses_of(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_ADDRCONFIG | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) {
    return fail(ErrorCode::kNotFound, "no address of " + host + ": " + gai_strerror(error));
  }
  const hat::Owned<addrinfo, freeaddrinfo> all(found);
  std::vector<std::string> addresses;
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    std::array<char, NI_MAXHOST> text{};
    if (getnameinfo(each->ai_addr, each->ai_addrlen, text.data(), text.size(), nullptr, 0,
                    NI_NUMERICHOST) != 0) {
      continue;
    }
    if (std::ranges::find(addresses, text.data()) == addresses.end()) {
      addresses.emplace_back(text.data());
    }
  }
  return addresses;
}

template <class Kind, size_t kCount>
std::optional<Kind> read_word(const std::string& word, const char* option,
                              const std::array<std::string_view, kCount>& words,
                              Diagnostics& diagnostics) {
  if (word.empty()) return std::nullopt;
  const auto found = std::ranges::find(words, word);
  if (found != words.end()) return static_cast<Kind>(found - words.begin());
  std::string expected;
  for (const std::string_view each : words) expected.append(" ").append(each);
  diagnostics.error({.file = option}, "'" + word + "' is none of:" + expected);
  return std::nullopt;
}

std::string called_service(const RdmaOptions& options, const hat::Manifest& manifest,
                           Diagnostics& diagnostics) {
  if (!options.service.empty()) return options.service;
  if (manifest.services.empty()) return std::string(hat::kAnyService);
  if (manifest.services.size() != 1) {
    std::string names;
    for (const auto& service : manifest.services) names += " " + service.name;
    diagnostics.error({.file = "RdmaOptions::service"},
                      "the manifest has several services; name the one that is called:" + names);
  }
  return manifest.services.front().name;
}

bool has_rules(const hat::Manifest& manifest) {
  const auto has_rule = [](const auto& spec) { return spec.access.has_value(); };
  return std::ranges::any_of(manifest.services, [&](const hat::ServiceSpec& service) {
    return has_rule(service) || std::ranges::any_of(service.functions, has_rule);
  });
}

}  // namespace

Result<Prepared> prepare_client(const RdmaOptions& options, const std::string& host,
                                uint16_t port) {
  Diagnostics diagnostics;
  HAT_TRY(Prepared prepared, prepare(options, diagnostics));
  HAT_TRY(const std::vector<std::string> addresses, addresses_of(host, port));
  hat::EndpointConfig endpoint{.listen = kThisProcess,
                               .service = called_service(options, prepared.manifest, diagnostics),
                               .peers = {}};
  // The addresses form a group: the name of the node there does not matter, and with TLS the
  // certificate must have the group's name.
  for (const std::string& address : addresses) {
    hat::PeerConfig peer{.name = host + "@" + address,
                         .link = {hat::Address::Kind::kTcp, address, port, ""}};
    peer.group = host;
    endpoint.peers.push_back(peer.name);
    prepared.node.peers.push_back(std::move(peer));
  }
  prepared.node.endpoints.push_back(std::move(endpoint));
  return finish(std::move(prepared), diagnostics);
}

Result<Prepared> prepare_server(const RdmaOptions& options, const std::string& host,
                                uint16_t port) {
  Diagnostics diagnostics;
  HAT_TRY(Prepared prepared, prepare(options, diagnostics));
  const auto transport =
      read_word<hat::ThriftTransport>(options.thrift_transport, "RdmaOptions::thrift_transport",
                                      hat::kThriftTransportWords, diagnostics);
  const auto protocol =
      read_word<hat::ThriftProtocol>(options.thrift_protocol, "RdmaOptions::thrift_protocol",
                                     hat::kThriftProtocolWords, diagnostics);
  std::vector<std::string> services;
  for (const auto& service : prepared.manifest.services) services.push_back(service.name);
  // Serves services that the manifest does not have, as a Thrift server does; but not if it has
  // `allow` rules, which such a service could avoid.
  if (!has_rules(prepared.manifest)) services.emplace_back(hat::kAnyService);
  for (std::string& service : services) {
    hat::ServedConfig served{.service = std::move(service), .upstream = kThisProcess};
    served.thrift_transport = transport;
    served.thrift_protocol = protocol;
    prepared.node.serves.push_back(std::move(served));
  }
  prepared.node.link.listen =
      hat::Address{hat::Address::Kind::kTcp, host.empty() ? "::" : host, port, ""};
  return finish(std::move(prepared), diagnostics);
}

}  // namespace hatrpc::rdma
