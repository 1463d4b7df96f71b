// SPDX-License-Identifier: Apache-2.0
// client/preload/address.h: an IP address and port. An IPv4 address is equal to the same address
// mapped to IPv6: a program with IPv6 sockets connects to ::ffff:127.0.0.1, another program to
// 127.0.0.1, and both addresses mean the same socket.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

namespace hatrpc::preload {

struct Address {
  in6_addr ip;         // an IPv4 address is stored as its mapped IPv6 address
  in_port_t port;      // in network byte order
  sa_family_t family;  // AF_INET or AF_INET6: the family of the program's sockaddr

  bool operator==(const Address& with) const {
    return port == with.port && IN6_ARE_ADDR_EQUAL(&ip, &with.ip);
  }

  // Converts the sockaddr `address`, which has `bytes` bytes. Returns std::nullopt if it is neither
  // an IPv4 nor an IPv6 address.
  static std::optional<Address> of(const sockaddr* address, socklen_t bytes);
  // Parses 127.0.0.1:9090 or [::1]:9090, the form in the environment variable HATRPC_RINGS.
  static std::optional<Address> parse(std::string_view text);
  static constexpr size_t kTextMax = INET6_ADDRSTRLEN + 8;
  // Writes the address in the form that parse() accepts. An address with `family` AF_INET6 is in
  // brackets, even if it is a mapped IPv4 address.
  void print(char (&text)[kTextMax]) const;
  // Copies the address to `address` as getpeername(2) does: `*bytes` is the space on entry, and the
  // size of the address on return.
  void give(sockaddr* address, socklen_t* bytes) const;
  // Returns the local address of a connection to this loopback address: the same IP address, with
  // the port `from_port`.
  Address from(in_port_t from_port) const;
};

}  // namespace hatrpc::preload
