// SPDX-License-Identifier: Apache-2.0
// daemon/discovery/resolver.h: looks up host names and SRV names in the DNS, without blocking.
//
// Thread   Only the main thread uses a resolver.
#pragma once

#include <chrono>
#include <compare>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/address.h"
#include "base/result.h"

struct event_base;

namespace hat {

// A name to look up.
struct Lookup {
  enum class Kind : uint8_t {
    kHost,     // the addresses of a host: records A and AAAA, or /etc/hosts
    kService,  // the hosts and ports of an SRV name: records SRV, and the addresses of these hosts
  };
  Kind kind = Kind::kHost;
  std::string name;
  uint16_t port = 0;  // for kHost: the port of each address in the answer

  friend auto operator<=>(const Lookup&, const Lookup&) = default;
};

// Returns the lookup in the form of the key `link` of a peer: "dns:HOST:PORT" or "srv:NAME".
inline std::string text_of(const Lookup& lookup) {
  return lookup.kind == Lookup::Kind::kService
             ? "srv:" + lookup.name
             : "dns:" + lookup.name + ":" + std::to_string(lookup.port);
}

struct Resolved {
  // Numeric addresses, sorted, each once. For an SRV name, only the records with the lowest
  // priority number count (RFC 2782), of these at most 64 hosts, and weights are not used. At most
  // 4096.
  std::vector<Address> addresses;
  // How long the answer may be used: the shortest time to live of its records. 0 for an answer from
  // /etc/hosts.
  std::chrono::seconds ttl{};
};

class Resolver {
 public:
  using Done = std::function<void(Result<Resolved>)>;

  virtual ~Resolver() = default;  // drops the lookups that have not ended, without calling `done`
  // Begins a lookup. Calls `done` once, from the event loop or before look_up() returns. An answer
  // without addresses is an error.
  virtual void look_up(const Lookup& lookup, Done done) = 0;
  // Waits for answers, for at most `longest`, and handles those that have come. Calls `done` of the
  // lookups that have ended. Can be called while the event loop runs one of its functions.
  virtual void wait(std::chrono::milliseconds longest) = 0;
};

struct DnsServers {
  std::string resolv_conf = "/etc/resolv.conf";  // the file with their addresses, resolv.conf(5)
  uint16_t port = 53;
  // How long the resolver waits for an answer before it asks the next server, or the same one
  // again. It asks each server twice, and waits twice as long the second time.
  std::chrono::milliseconds patience{2000};
};

// Makes a resolver that reads /etc/hosts and asks DNS servers, with the search domains and `ndots`
// of resolv.conf. It reads resolv.conf again when that has changed, and the lookups that run then
// fail. It repeats a query by TCP if an answer was truncated. It uses the library c-ares. `base`
// must outlive the resolver.
std::unique_ptr<Resolver> make_dns_resolver(event_base* base, DnsServers servers = {});

}  // namespace hat
