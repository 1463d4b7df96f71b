// SPDX-License-Identifier: Apache-2.0
#include "config/node.h"

#include <algorithm>
#include <bit>
#include <filesystem>
#include <functional>
#include <utility>

#include "base/number.h"
#include "config/limit_keys.h"
#include "config/manifest.h"
#include "config/names.h"
#include "config/node_checks.h"
#include "config/yaml.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

constexpr uint32_t kUpstreamsMax = 65536;
constexpr uint32_t kFunctionsMax = 1'000'000;
constexpr uint32_t kSampleMax = 1'000'000;

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

template <class Enum, size_t kCount>
auto word_of(const std::array<std::string_view, kCount>& all) {
  return [words = std::vector(all.begin(), all.end())](
             const YamlValue& value, std::string_view key) -> std::optional<Enum> {
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
  const auto read_kind = word_of<FabricKind>(kFabricWords);
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
             into("loop_folder", false, fabric.loop_folder, read_text),
             {"faults", false, [&](const YamlValue& v) { fabric.faults = read_faults(v); }}});
  const bool names_device = !fabric.device.empty() || fabric.port != 0 || fabric.gid_index >= 0;
  if (names_device && (fabric.kind == FabricKind::kLoop || fabric.kind == FabricKind::kTcp)) {
    value.error(
        "fabric: device, port and gid_index apply only to kind: verbs or auto; remove them, or "
        "change kind");
  }
  const bool may_be_loop = fabric.kind == FabricKind::kLoop || fabric.kind == FabricKind::kAuto;
  if (!fabric.loop_folder.empty() && !may_be_loop) {
    value.error(
        "fabric: loop_folder applies only to kind: loop or auto; remove it, or change kind");
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

// Reads an address that can also name several daemons or servers. `read_one` reads one that names a
// single one; `example` is a name for the message about a wrong one.
template <class ReadOne>
void read_names(const YamlValue& value, std::string_view key, std::string_view example,
                ReadOne read_one, Address& to, NameKind& kind) {
  const auto text = read_text(value, key);
  if (!text) return;
  const std::string name = text->substr(std::min<size_t>(text->size(), 4));
  kind = text->starts_with("srv:")   ? NameKind::kService
         : text->starts_with("dns:") ? NameKind::kAllOfHost
                                     : NameKind::kAddress;
  const bool is_service = kind == NameKind::kService;
  if (is_service && (name.empty() || name.find_first_of(": []") != name.npos)) {
    return value.error(std::string(key) + ": " + in_quotes(*text) +
                       "; expected srv:NAME, such as srv:" + std::string(example));
  }
  // The records of a service have the ports.
  auto address = kind == NameKind::kAddress
                     ? read_one(value, key)
                     : read_address_in(value, key, "tcp:" + name + (is_service ? ":0" : ""));
  if (address) to = std::move(*address);
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
             {"peers", false,
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

void place_in(const std::filesystem::path& folder, std::string& path) {
  if (!path.empty()) path = (folder / path).lexically_normal();
}

// Returns the key of a list of files and folders.
YamlKey paths(const char* key, std::vector<ConfigPath>& into) {
  return {key, false, [key, &into](const YamlValue& v) {
            read_items(v, key, [&](const YamlValue& item) {
              auto path = read_text(item, key);
              if (path) into.push_back({std::move(*path), item.location()});
            });
          }};
}

// Adds the peers of a map whose keys are their names. `folder` is that of the file.
void read_peers(const YamlValue& value, const std::filesystem::path& folder,
                std::vector<PeerConfig>& peers) {
  read_names(
      value, "peers", [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
        PeerConfig peer{.name = name, .location = key.location()};
        read_node_name(key, "a peer's name");
        read_keys(v, "peers." + name,
                  {{"link", true,
                    [&](const YamlValue& link) {
                      read_names(link, "link", "_hatrpcd._tcp.kv.example", read_link_address,
                                 peer.link, peer.kind);
                    }},
                   into("identity", false, peer.identity, read_identity_rule),
                   located_file("profile", peer.profile, peer.profile_location),
                   into("weight", false, peer.weight, number_of<uint32_t>(1, kPeerWeightMax)),
                   into("zone", false, peer.zone, read_node_name),
                   {"serves", false, [&](const YamlValue& services) {
                      peer.serves = read_names_list(services, "serves");
                    }}});
        place_in(folder, peer.profile);
        const auto first = std::ranges::find(peers, name, &PeerConfig::name);
        if (first != peers.end()) {
          return key.error("peer '" + name + "' appears twice; first at " +
                           to_string(first->location));
        }
        peers.push_back(std::move(peer));
      });
}

// Gives endpoints without peers those that serve their service.
void find_peers(NodeConfig& node) {
  for (EndpointConfig& endpoint : node.endpoints) {
    if (!endpoint.peers.empty()) continue;
    for (const PeerConfig& peer : node.peers) {
      if (std::ranges::find(peer.serves, endpoint.service) == peer.serves.end()) continue;
      endpoint.peers.push_back(peer.name);
    }
  }
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
            {{"upstream", true,
              [&](const YamlValue& v) {
                read_names(v, "upstream", "_kv._tcp.kv.example", read_address, served.upstream,
                           served.kind);
              }},
             into("ring", false, served.ring, read_ring),
             into("mode", false, served.mode, word_of<UpstreamMode>(kUpstreamModeWords)),
             into("max_connections", false, served.connections_max, number_of(1, kUpstreamsMax)),
             into("thrift_transport", false, served.thrift_transport,
                  word_of<ThriftTransport>(kThriftTransportWords)),
             into("thrift_protocol", false, served.thrift_protocol,
                  word_of<ThriftProtocol>(kThriftProtocolWords))});
  check_ring(value, served.ring, "upstream", served.upstream);
  if (served.ring && served.kind != NameKind::kAddress) {
    value.error("ring belongs to one server, and `upstream` is " + upstream_text(served) +
                ", which can be several; expected tcp:HOST:PORT there, or no `ring`");
  }
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
             {"socket", false,
              [&](const YamlValue& v) {
                const auto path = read_text(v, "socket");
                if (!path) return;
                const auto address = parse_address("unix:" + *path);
                if (!address) return v.error("socket: " + address.error().message);
                admin.socket = *path;
              }},
             {"duration_buckets", false,
              [&](const YamlValue& v) {
                admin.duration_buckets = read_duration_buckets(v, "duration_buckets");
              }},
             into("max_functions", false, admin.functions_max, number_of(1, kFunctionsMax))});
  return admin;
}

AccessLogConfig read_access_log(const YamlValue& value) {
  constexpr auto kSlowMax = 1h;
  AccessLogConfig log{.location = value.location()};
  read_keys(value, "access_log",
            {into("path", true, log.path, read_file_name),
             into("sample_one_in", false, log.sample_one_in, number_of(0, kSampleMax)),
             {"slower_than", false,
              [&](const YamlValue& v) {
                log.slower_than = read_duration(v, "slower_than", 1us, kSlowMax);
              }},
             into("failed", false, log.failed, read_bool)});
  return log;
}

TracingConfig read_tracing(const YamlValue& value) {
  TracingConfig tracing{.location = value.location()};
  read_keys(value, "tracing", {into("path", true, tracing.path, read_file_name)});
  return tracing;
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
  if (limits.link_idle != 0s && limits.link_idle < 1s) {
    value.error("limits.link_idle (" + duration_text(limits.link_idle) +
                ") must be 0s, which keeps links, or at least 1s");
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

namespace {

// Makes the relative paths of the configuration start at `folder`.
void place_files(NodeConfig& node, const std::filesystem::path& folder) {
  for (auto* paths : {&node.manifests, &node.peer_files}) {
    for (ConfigPath& path : *paths) place_in(folder, path.path);
  }
  for (std::string* path : {&node.profile, &node.learned, &node.access_log.path, &node.tracing.path,
                            &node.fabric.loop_folder}) {
    place_in(folder, *path);
  }
  if (node.link.tls) {
    TlsConfig& tls = *node.link.tls;
    for (std::string* path : {&tls.certificate, &tls.key, &tls.ca, &tls.crl}) {
      place_in(folder, *path);
    }
  }
}

// Reads the text of the node's own file.
NodeConfig parse(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  NodeConfig node;
  const auto folder = std::filesystem::path(file).parent_path();
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return node;
  const auto read_serves = [&](const YamlValue& value) {
    read_names(value, "serves",
               [&](const std::string& service, const YamlValue& key, const YamlValue& v) {
                 read_identifier(key, "a service's name");
                 node.serves.push_back(read_served(service, v, key.location()));
               });
  };
  read_keys(
      *document, "node configuration",
      {into("node", true, node.node, read_own_name),
       into("zone", false, node.zone, read_own_name),
       {"fabric", false, [&](const YamlValue& v) { node.fabric = read_fabric(v); }},
       into("workers", false, node.workers, read_workers),
       {"worker_cores", false,
        [&](const YamlValue& v) { node.worker_cores = read_worker_cores(v); }},
       into("worker_nice", false, node.worker_nice, number_of<int>(-20, 19)),
       paths("manifests", node.manifests),
       paths("peer_files", node.peer_files),
       located_file("profile", node.profile, node.profile_location),
       located_file("learned", node.learned, node.learned_location),
       {"link", false, [&](const YamlValue& v) { node.link = read_link(v); }},
       {"peers", false, [&](const YamlValue& v) { read_peers(v, folder, node.peers); }},
       {"endpoints", false,
        [&](const YamlValue& v) {
          read_items(v, "endpoints",
                     [&](const YamlValue& item) { node.endpoints.push_back(read_endpoint(item)); });
        }},
       {"serves", false, read_serves},
       {"admin", false, [&](const YamlValue& v) { node.admin = read_admin(v); }},
       {"access_log", false, [&](const YamlValue& v) { node.access_log = read_access_log(v); }},
       {"tracing", false, [&](const YamlValue& v) { node.tracing = read_tracing(v); }},
       {"limits", false, [&](const YamlValue& v) { node.limits = read_limits(v); }}});
  place_files(node, folder);
  return node;
}

// Completes a configuration whose peers are known, and checks it.
void finish(NodeConfig& node, const std::string& file, Diagnostics& diagnostics) {
  find_peers(node);
  check_node(node, diagnostics);
  add_rings(node.endpoints);
  check_written_files(node, file, diagnostics);
}

std::string name_text(const Address& address, NameKind kind) {
  switch (kind) {
    case NameKind::kAddress:
      return to_string(address);
    case NameKind::kAllOfHost:
      return "dns" + to_string(address).substr(3);
    case NameKind::kService:
      return "srv:" + address.host;
  }
  return "";
}

}  // namespace

NodeConfig read_node_config(const std::string& text, const std::string& file,
                            Diagnostics& diagnostics) {
  NodeConfig node = parse(text, file, diagnostics);
  finish(node, file, diagnostics);
  return node;
}

NodeConfig read_application_config(const std::string& text, const std::string& file,
                                   Diagnostics& diagnostics) {
  NodeConfig node;
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return node;
  read_keys(*document, "application's configuration",
            {into("node", false, node.node, read_own_name),
             into("zone", false, node.zone, read_own_name),
             {"fabric", false, [&](const YamlValue& v) { node.fabric = read_fabric(v); }},
             {"link", true, [&](const YamlValue& v) { node.link = read_link(v); }},
             {"limits", false, [&](const YamlValue& v) { node.limits = read_limits(v); }},
             located_file("profile", node.profile, node.profile_location)});
  place_files(node, std::filesystem::path(file).parent_path());
  return node;
}

std::string link_text(const PeerConfig& peer) { return name_text(peer.link, peer.kind); }

std::string upstream_text(const ServedConfig& served) {
  return name_text(served.upstream, served.kind);
}

uint64_t registered_bytes(const FabricConfig& fabric) {
  return 9 * std::bit_floor(fabric.pinned_bytes_max / 9);
}

NodeConfig load_node_config(const std::string& file, Diagnostics& diagnostics) {
  const auto text = read_file(file, diagnostics);
  if (!text) return {};
  NodeConfig node = parse(*text, file, diagnostics);
  for (const std::string& more : config_files("peer_files", node.peer_files, diagnostics)) {
    const auto peers = read_file(more, diagnostics);
    if (!peers) continue;
    const auto document = parse_yaml(*peers, more, diagnostics);
    if (document) {
      read_peers(*document, std::filesystem::path(more).parent_path(), node.peers);
    }
  }
  finish(node, file, diagnostics);
  return node;
}

}  // namespace hat
