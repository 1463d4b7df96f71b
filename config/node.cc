// SPDX-License-Identifier: Apache-2.0
#include "config/node.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <map>
#include <utility>

#include "base/nearest_word.h"
#include "base/number.h"
#include "config/limit_keys.h"
#include "config/manifest.h"
#include "config/names.h"
#include "config/upstream_rules.h"
#include "config/yaml.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kUpstreamsMax = 65536;

// Returns an entry of the table for read_keys(): if the value of `key` is valid, its reader stores
// the value in `member`.
template <class T, class Read>
YamlKey into(std::string_view key, bool required, T& member, Read read) {
  return {key, required, [key, &member, read](const YamlValue& value) {
            if (auto result = read(value, key)) member = std::move(*result);
          }};
}

std::optional<uint32_t> read_mode(const YamlValue& value, std::string_view key) {
  const auto text = read_text(value, key);
  if (!text) return std::nullopt;
  const auto mode = parse_number<uint32_t>(*text, 8);
  if (mode && *mode <= 0777) return mode;
  value.error(std::string(key) + ": '" + *text + "'; expected permission bits such as \"0660\"");
  return std::nullopt;
}

template <class Enum>
auto word_of(std::vector<std::string_view> words) {
  return [words = std::move(words)](const YamlValue& value,
                                    std::string_view key) -> std::optional<Enum> {
    const auto index = read_word(value, key, words);
    return index ? std::optional(static_cast<Enum>(*index)) : std::nullopt;
  };
}

template <typename Number = uint32_t>
auto number_of(int64_t min, int64_t max) {
  return [min, max](const YamlValue& value, std::string_view key) -> std::optional<Number> {
    const auto number = read_number(value, key, min, max);
    return number ? std::optional(static_cast<Number>(*number)) : std::nullopt;
  };
}

std::optional<uint32_t> read_workers(const YamlValue& value, std::string_view key) {
  if (value.node.IsScalar() && value.node.Scalar() == "auto") return 0;
  return number_of(1, kWorkersMax)(value, key);
}

// Reads `worker_cores`: auto, nic, a text such as "2-5,8", or a list of such texts.
WorkerCores read_worker_cores(const YamlValue& value) {
  WorkerCores read{.location = value.location()};
  if (value.node.IsScalar() && value.node.Scalar() == "auto") return read;
  if (value.node.IsScalar() && value.node.Scalar() == "nic") {
    read.kind = WorkerCores::Kind::kNic;
    return read;
  }
  read.kind = WorkerCores::Kind::kListed;
  std::string list;
  const auto read_part = [&](const YamlValue& part) {
    const auto text = read_text(part, "worker_cores");
    if (!text) return;
    if (parse_cores(*text)) {
      list += (list.empty() ? "" : ",") + *text;
      return;
    }
    part.error("worker_cores: " + in_quotes(*text) +
               "; expected auto, nic, or numbers of cores and ranges from 0 to " +
               std::to_string(kCoreMax) + " such as 2-5,8");
  };
  if (value.node.IsSequence()) {
    read_items(value, "worker_cores", read_part);
    if (value.node.size() == 0) value.error("worker_cores: the list is empty; write auto instead");
  } else {
    read_part(value);
  }
  read.cores = parse_cores(list).value_or(Cores{});
  return read;
}

std::vector<std::string> read_names_list(const YamlValue& value, std::string_view key) {
  std::vector<std::string> names;
  read_items(value, key, [&](const YamlValue& item) {
    if (auto name = read_text(item, key)) names.push_back(std::move(*name));
  });
  return names;
}

FaultsConfig read_faults(const YamlValue& value) {
  constexpr int64_t kMany = 1'000'000'000;
  FaultsConfig faults;
  read_keys(value, "fabric.faults",
            {into("seed", false, faults.seed, number_of<uint64_t>(0, INT64_MAX)),
             {"delay", false,
              [&](const YamlValue& v) {
                if (const auto delay = read_duration(v, "delay", 0s, 1s)) faults.delay_max = *delay;
              }},
             into("refused_percent", false, faults.refused_percent, number_of(0, 100)),
             into("cut_within", false, faults.cut_within, number_of<uint64_t>(1, kMany)),
             into("silent_within", false, faults.silent_within, number_of<uint64_t>(1, kMany))});
  return faults;
}

FabricConfig read_fabric(const YamlValue& value) {
  constexpr int64_t kPortMax = 255;
  constexpr int64_t kGidIndexMax = 65535;
  constexpr uint64_t kPinnedMin = 8ull << 20;
  constexpr uint64_t kPinnedMax = 64ull << 30;
  const auto read_kind = word_of<FabricKind>({"auto", "verbs", "loop", "tcp"});
  FabricConfig fabric;
  if (!value.node.IsMap()) {
    fabric.kind = read_kind(value, "fabric").value_or(FabricKind::kAuto);
    return fabric;
  }
  read_keys(value, "fabric",
            {into("kind", false, fabric.kind, read_kind),
             into("device", false, fabric.device, read_text),
             into("port", false, fabric.port, number_of<uint8_t>(1, kPortMax)),
             into("gid_index", false, fabric.gid_index, number_of<int>(0, kGidIndexMax)),
             {"max_pinned", false,
              [&](const YamlValue& v) {
                const auto bytes = read_bytes(v, "max_pinned", kPinnedMin, kPinnedMax);
                if (bytes) fabric.pinned_bytes_max = *bytes;
              }},
             {"faults", false, [&](const YamlValue& v) { fabric.faults = read_faults(v); }}});
  const bool names_device = !fabric.device.empty() || fabric.port != 0 || fabric.gid_index >= 0;
  if (names_device && (fabric.kind == FabricKind::kLoop || fabric.kind == FabricKind::kTcp)) {
    value.error(
        "fabric: device, port and gid_index apply only to kind: verbs or auto; remove them, or "
        "change kind");
  }
  return fabric;
}

// Reads the address of a link. Rejects shm addresses, because these work only between processes of
// one host, and a link usually connects two hosts.
std::optional<Address> read_link_address(const YamlValue& value, std::string_view what) {
  auto address = read_address(value, what);
  if (!address || !address->uses_rings()) return address;
  value.error(std::string(what) + ": '" + to_string(*address) +
              "' is for applications on this host; expected tcp:HOST:PORT or unix:/ABSOLUTE/PATH");
  return std::nullopt;
}

std::optional<std::string> read_file_name(const YamlValue& value, std::string_view key) {
  auto file = read_text(value, key);
  if (file && file->empty()) value.error(std::string(key) + " is empty; expected a file");
  return file;
}

YamlKey located_file(std::string_view key, std::string& path, SourceLocation& location) {
  const auto read = [&path, &location, key](const YamlValue& value) {
    path = read_file_name(value, key).value_or("");
    location = value.location();
  };
  return {key, false, read};
}

TlsConfig read_tls(const YamlValue& value) {
  TlsConfig tls{.location = value.location()};
  read_keys(
      value, "link.tls",
      {into("certificate", true, tls.certificate, read_file_name),
       into("key", true, tls.key, read_file_name),
       into("ca", true, tls.ca, read_file_name),
       into("crl", false, tls.crl, read_file_name),
       {"allow", false, [&](const YamlValue& v) { tls.allow = read_identity_rules(v, "allow"); }}});
  return tls;
}

LinkConfig read_link(const YamlValue& value) {
  LinkConfig link{.location = value.location()};
  read_keys(value, "link",
            {into("listen", false, link.listen, read_link_address),
             into("insecure", false, link.insecure, read_bool),
             {"tls", false, [&](const YamlValue& v) { link.tls = read_tls(v); }}});
  return link;
}

std::optional<Address> read_ring(const YamlValue& value, std::string_view what) {
  const auto path = read_text(value, what);
  if (!path) return std::nullopt;
  auto address = parse_address("shm:" + *path);
  // A comma separates paths in the variables of the preloaded library.
  if (address && path->find(',') == path->npos) return std::move(*address);
  value.error(std::string(what) + ": '" + *path +
              "'; expected an absolute path of at most 107 bytes without a comma");
  return std::nullopt;
}

// Reports an error unless `address`, the value of `key`, is a TCP address. A ring next to another
// kind of address could be open to more users than this address.
void check_ring(const YamlValue& value, const std::optional<Address>& ring, std::string_view key,
                const Address& address) {
  if (!ring || address.kind == Address::Kind::kTcp) return;
  value.error("ring belongs to a TCP address, and `" + std::string(key) + "` is " +
              to_string(address) + "; expected tcp:HOST:PORT there, or no `ring`");
}

EndpointConfig read_endpoint(const YamlValue& value) {
  EndpointConfig endpoint{.location = value.location()};
  read_keys(value, "endpoint",
            {into("listen", true, endpoint.listen, read_address),
             into("service", true, endpoint.service, read_identifier),
             {"peers", true,
              [&](const YamlValue& v) {
                endpoint.peers = read_names_list(v, "peers");
                if (v.node.IsSequence() && endpoint.peers.empty()) {
                  v.error("peers is empty; expected the name of at least one peer");
                }
              }},
             into("ring", false, endpoint.ring, read_ring),
             into("mode", false, endpoint.mode, read_mode),
             into("group", false, endpoint.group, read_text)});
  check_ring(value, endpoint.ring, "listen", endpoint.listen);
  return endpoint;
}

// Adds an endpoint for the ring of each endpoint that has one.
void add_rings(std::vector<EndpointConfig>& endpoints) {
  for (size_t i = 0; i < endpoints.size(); ++i) {
    if (!endpoints[i].ring) continue;
    EndpointConfig by_ring = endpoints[i];
    by_ring.listen = *std::exchange(by_ring.ring, std::nullopt);
    endpoints.insert(endpoints.begin() + static_cast<ptrdiff_t>(++i), std::move(by_ring));
  }
}

ServedConfig read_served(const std::string& service, const YamlValue& value,
                         const SourceLocation& location) {
  ServedConfig served{.service = service, .location = location};
  read_keys(value, "serves." + service,
            {into("upstream", true, served.upstream, read_address),
             into("ring", false, served.ring, read_ring),
             into("mode", false, served.mode, word_of<UpstreamMode>({"mirror", "shared"})),
             into("max_connections", false, served.connections_max, number_of(1, kUpstreamsMax)),
             into("thrift_transport", false, served.thrift_transport,
                  word_of<ThriftTransport>({"framed", "buffered", "header"})),
             into("thrift_protocol", false, served.thrift_protocol,
                  word_of<ThriftProtocol>({"binary", "compact", "json"}))});
  check_ring(value, served.ring, "upstream", served.upstream);
  return served;
}

AdminConfig read_admin(const YamlValue& value) {
  AdminConfig admin{.location = value.location()};
  read_keys(value, "admin",
            {{"listen", false,
              [&](const YamlValue& v) {
                admin.listen = read_address(v, "listen");
                if (admin.listen && admin.listen->is_path()) {
                  v.error(
                      "admin.listen must be a tcp: address for HTTP; hatctl's unix socket is "
                      "admin.socket");
                }
              }},
             {"socket", false, [&](const YamlValue& v) {
                const auto path = read_text(v, "socket");
                if (!path) return;
                const auto address = parse_address("unix:" + *path);
                if (!address) return v.error("socket: " + address.error().message);
                admin.socket = *path;
              }}});
  return admin;
}

Limits read_limits(const YamlValue& value) {
  Limits limits = default_limits();
  std::vector<YamlKey> keys;
#define HAT_SIZE(member, key, standard, min, max, meaning)                               \
  keys.push_back({key, false, [&limits](const YamlValue& v) {                            \
                    if (auto read = read_bytes(v, key, min, max)) limits.member = *read; \
                  }});
#define HAT_COUNT(member, key, standard, min, max, meaning)                             \
  keys.push_back({key, false, [&limits](const YamlValue& v) {                           \
                    if (auto read = number_of(min, max)(v, key)) limits.member = *read; \
                  }});
#define HAT_TIME(member, key, standard, min, max, meaning)                                  \
  keys.push_back({key, false, [&limits](const YamlValue& v) {                               \
                    if (auto read = read_duration(v, key, min, max)) limits.member = *read; \
                  }});
  HAT_SIZE_LIMITS(HAT_SIZE)
  HAT_COUNT_LIMITS(HAT_COUNT)
  HAT_TIME_LIMITS(HAT_TIME)
#undef HAT_TIME
#undef HAT_COUNT
#undef HAT_SIZE
  read_keys(value, "limits", keys);
  if (limits.keepalive_timeout <= limits.keepalive_interval) {
    value.error("limits.keepalive_timeout (" + duration_text(limits.keepalive_timeout) +
                ") must be longer than keepalive_interval (" +
                duration_text(limits.keepalive_interval) + "), or no ping can be answered in time");
  }
  // Warns of a time-out of at most a second. If the server's queue of connections is full, Linux
  // drops a connection request, and sends it again after one second, which is then too late.
  constexpr auto kFirstRetry = 1s;
  if (limits.upstream_connect_timeout <= kFirstRetry) {
    value.diagnostics->warning(value.location(),
                               "limits.upstream_connect_timeout (" +
                                   duration_text(limits.upstream_connect_timeout) +
                                   ") ends before the kernel retries a connection request, after " +
                                   duration_text(kFirstRetry) +
                                   ": if a server's queue of connections is full for a moment, "
                                   "calls are answered with upstream_unreachable");
  }
  return limits;
}

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
      for (const std::string& peer : endpoint.peers) {
        if (std::ranges::find(names, peer) != names.end()) continue;
        diagnostics_.error(endpoint.location, "no peer is called '" + peer + "'" +
                                                  did_you_mean(peer, names) +
                                                  "; `peers` lists them");
      }
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
                                             to_string(owner->upstream) +
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

// Reports an error if the file `learned`, which the daemon replaces, has another use too.
void check_learned(const NodeConfig& node, const std::string& file, Diagnostics& diagnostics) {
  if (node.learned.empty()) return;
  std::vector<std::string> used = {file, node.profile};
  for (const ManifestPath& manifest : node.manifests) used.push_back(manifest.path);
  if (const auto& tls = node.link.tls) {
    used.insert(used.end(), {tls->certificate, tls->key, tls->ca, tls->crl});
  }
  const std::filesystem::path learned = node.learned;
  for (std::filesystem::path other : used) {
    if (other.empty()) continue;
    if (!other.has_filename()) other = other.parent_path();  // "manifests/"
    if (learned != other && learned.parent_path() != other) continue;
    diagnostics.error(node.learned_location, "learned: the daemon replaces " +
                                                 in_quotes(node.learned) + ", but also reads " +
                                                 in_quotes(other.string()) +
                                                 "; expected a file that has no other use");
  }
}

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
                              to_string(served.upstream) + ", ";
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

}  // namespace

Limits default_limits() {
  Limits limits{};
#define HAT_DEFAULT(member, key, standard, min, max, meaning) limits.member = standard;
  HAT_SIZE_LIMITS(HAT_DEFAULT)
  HAT_COUNT_LIMITS(HAT_DEFAULT)
  HAT_TIME_LIMITS(HAT_DEFAULT)
#undef HAT_DEFAULT
  return limits;
}

NodeConfig read_node_config(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics) {
  NodeConfig node;
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return node;
  const auto read_peers = [&](const YamlValue& value) {
    read_names(value, "peers",
               [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
                 PeerConfig peer{.name = name, .location = key.location()};
                 read_node_name(key, "a peer's name");
                 read_keys(v, "peers." + name,
                           {into("link", true, peer.link, read_link_address),
                            into("identity", false, peer.identity, read_identity_rule)});
                 node.peers.push_back(std::move(peer));
               });
  };
  const auto read_serves = [&](const YamlValue& value) {
    read_names(value, "serves",
               [&](const std::string& service, const YamlValue& key, const YamlValue& v) {
                 read_identifier(key, "a service's name");
                 node.serves.push_back(read_served(service, v, key.location()));
               });
  };
  read_keys(*document, "node configuration",
            {into("node", true, node.node, read_own_name),
             {"fabric", false, [&](const YamlValue& v) { node.fabric = read_fabric(v); }},
             into("workers", false, node.workers, read_workers),
             {"worker_cores", false,
              [&](const YamlValue& v) { node.worker_cores = read_worker_cores(v); }},
             into("worker_nice", false, node.worker_nice, number_of<int>(-20, 19)),
             {"manifests", false,
              [&](const YamlValue& v) {
                read_items(v, "manifests", [&](const YamlValue& item) {
                  auto path = read_text(item, "manifests");
                  if (path) node.manifests.push_back({std::move(*path), item.location()});
                });
              }},
             located_file("profile", node.profile, node.profile_location),
             located_file("learned", node.learned, node.learned_location),
             {"link", false, [&](const YamlValue& v) { node.link = read_link(v); }},
             {"peers", false, read_peers},
             {"endpoints", false,
              [&](const YamlValue& v) {
                read_items(v, "endpoints", [&](const YamlValue& item) {
                  node.endpoints.push_back(read_endpoint(item));
                });
              }},
             {"serves", false, read_serves},
             {"admin", false, [&](const YamlValue& v) { node.admin = read_admin(v); }},
             {"limits", false, [&](const YamlValue& v) { node.limits = read_limits(v); }}});
  Relations(node, diagnostics).check();
  add_rings(node.endpoints);
  const auto folder = std::filesystem::path(file).parent_path();
  const auto place_in_folder = [&folder](std::string& path) {
    if (!path.empty()) path = (folder / path).lexically_normal();
  };
  for (auto& [path, location] : node.manifests) place_in_folder(path);
  for (std::string* path : {&node.profile, &node.learned}) place_in_folder(*path);
  if (node.link.tls) {
    TlsConfig& tls = *node.link.tls;
    for (std::string* path : {&tls.certificate, &tls.key, &tls.ca, &tls.crl}) {
      place_in_folder(*path);
    }
  }
  check_learned(node, file, diagnostics);
  return node;
}

uint64_t registered_bytes(const FabricConfig& fabric) {
  return 9 * std::bit_floor(fabric.pinned_bytes_max / 9);
}

NodeConfig load_node_config(const std::string& file, Diagnostics& diagnostics) {
  const auto text = read_file(file, diagnostics);
  return text ? read_node_config(*text, file, diagnostics) : NodeConfig{};
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
