// SPDX-License-Identifier: Apache-2.0
// client/preload/address.h: an IP address and port, the same however a program spells it.
//
// A program whose sockets are IPv6 ones connects to ::ffff:127.0.0.1 where another connects to
// 127.0.0.1: both are one address here.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <optional>
#include <string_view>

namespace hatrpc::preload {

struct Address {
  in6_addr ip;         // IPv4: mapped
  in_port_t port;      // in network order
  sa_family_t family;  // as it was spelt: AF_INET or AF_INET6

  bool operator==(const Address& with) const {
    return port == with.port && IN6_ARE_ADDR_EQUAL(&ip, &with.ip);
  }

  static std::optional<Address> of(const sockaddr* address, socklen_t bytes);
  // 127.0.0.1:9090 or [::1]:9090, as HATRPC_RINGS has them.
  static std::optional<Address> parse(std::string_view text);
  static constexpr size_t kTextMax = INET6_ADDRSTRLEN + 8;
  // What parse() takes; an IPv6 one in brackets, also where it is a mapped IPv4 one.
  void print(char (&text)[kTextMax]) const;
  // As getpeername(2) gives it to a program.
  void give(sockaddr* address, socklen_t* bytes) const;
  // What a connection to it comes from: the same host's loopback, at some port.
  Address from(in_port_t from_port) const;
};

}  // namespace hatrpc::preload
