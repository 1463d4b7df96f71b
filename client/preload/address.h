// SPDX-License-Identifier: Apache-2.0
// client/preload/address.h: an IP address and port, the same however a program spells it.
//
// A program with IPv6 sockets connects to ::ffff:127.0.0.1 when another program connects to
// 127.0.0.1: both are the same Address.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

namespace hatrpc::preload {

struct Address {
  in6_addr ip;         // an IPv4 address is mapped to IPv6
  in_port_t port;      // in network order
  sa_family_t family;  // as the program gave it: AF_INET or AF_INET6

  bool operator==(const Address& with) const {
    return port == with.port && IN6_ARE_ADDR_EQUAL(&ip, &with.ip);
  }

  static std::optional<Address> of(const sockaddr* address, socklen_t bytes);
  // Parses 127.0.0.1:9090 or [::1]:9090, the form that HATRPC_RINGS uses.
  static std::optional<Address> parse(std::string_view text);
  static constexpr size_t kTextMax = INET6_ADDRSTRLEN + 8;
  // Writes the form that parse() accepts: in brackets if `family` is AF_INET6, also for a mapped
  // IPv4 address.
  void print(char (&text)[kTextMax]) const;
  // Fills in a sockaddr as getpeername(2) does.
  void give(sockaddr* address, socklen_t* bytes) const;
  // Returns the local address of a connection to this address: the same loopback address, with
  // `from_port`.
  Address from(in_port_t from_port) const;
};

}  // namespace hatrpc::preload
