// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/server_addresses.h: chooses the address for a new connection to a local
// server, or to one of several, if the `upstream` of a service is a name in the DNS.
//
//   upstream: tcp:HOST:PORT    one server: the first address of the host that has not failed
//   dns:HOST:PORT, srv:NAME    a server at each address: the one with the fewest connections of
//                              this worker that are in use; addresses with equally many take turns
//
// The turns begin at another address in each worker, so that few connections of many workers do not
// all go to the same server. A connection that moved here in a takeover does not count.
//
// Addresses at which connections failed are ejected (daemon/proxy/ejections.h): they are chosen
// only if no other one is left.
//
// Bounds   one count for each address with a connection
// Thread   the worker's.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "config/node.h"
#include "daemon/proxy/ejections.h"

namespace hat {

class ServerAddresses {
 public:
  // Makes the turns begin at the address number `first`, modulo their number.
  explicit ServerAddresses(uint32_t first) : first_(first) {}

  Ejections& ejections() { return ejections_; }
  const Ejections& ejections() const { return ejections_; }

  // Returns the address of `served` for a new connection, without those in `tried`; returns null if
  // all were tried. `served` must not change during the life of the result.
  const Address* choose(const ServedConfig& served, std::span<const Address> tried,
                        TimePoint now) const;
  // Records that a connection to the address begins, or ends, to be used.
  void begin_use(const Address& address);
  void end_use(const Address& address);
  // Returns how many connections to the address are in use.
  size_t used(const Address& address) const;

 private:
  struct Use {
    Address address;
    size_t connections = 0;
  };

  const uint32_t first_;
  Ejections ejections_;
  std::vector<Use> uses_;
  Address last_;  // the address at which a use began last
};

}  // namespace hat
