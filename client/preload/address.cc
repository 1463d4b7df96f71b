// SPDX-License-Identifier: Apache-2.0
#include "client/preload/address.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstring>

namespace hatrpc::preload {
namespace {

in6_addr mapped(in_addr ip) {
  in6_addr both{};
  both.s6_addr[10] = both.s6_addr[11] = 0xff;
  std::memcpy(&both.s6_addr[12], &ip, sizeof ip);
  return both;
}

in_addr unmapped(const in6_addr& ip) {
  in_addr four;
  std::memcpy(&four, &ip.s6_addr[12], sizeof four);
  return four;
}

}  // namespace

std::optional<Address> Address::of(const sockaddr* address, socklen_t bytes) {
  if (address == nullptr || bytes < sizeof(sa_family_t)) return std::nullopt;
  if (address->sa_family == AF_INET && bytes >= sizeof(sockaddr_in)) {
    sockaddr_in four;
    std::memcpy(&four, address, sizeof four);
    return Address{mapped(four.sin_addr), four.sin_port, AF_INET};
  }
  if (address->sa_family == AF_INET6 && bytes >= sizeof(sockaddr_in6)) {
    sockaddr_in6 six;
    std::memcpy(&six, address, sizeof six);
    return Address{six.sin6_addr, six.sin6_port, AF_INET6};
  }
  return std::nullopt;
}

std::optional<Address> Address::parse(std::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == text.npos) return std::nullopt;
  std::string_view ip = text.substr(0, colon);
  const std::string_view digits = text.substr(colon + 1);
  uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.begin(), digits.end(), port);
  if (error != std::errc() || end != digits.end() || port == 0) return std::nullopt;
  const bool six = ip.size() > 2 && ip.front() == '[' && ip.back() == ']';
  if (six) ip = ip.substr(1, ip.size() - 2);
  char word[INET6_ADDRSTRLEN] = {};
  if (ip.size() >= sizeof word) return std::nullopt;
  ip.copy(word, ip.size());
  Address address{.port = htons(port), .family = sa_family_t(six ? AF_INET6 : AF_INET)};
  in_addr four{};
  if (inet_pton(address.family, word, six ? static_cast<void*>(&address.ip) : &four) != 1) {
    return std::nullopt;
  }
  if (!six) address.ip = mapped(four);
  return address;
}

void Address::print(char (&text)[kTextMax]) const {
  char word[INET6_ADDRSTRLEN] = "";
  const in_addr four = unmapped(ip);
  const bool six = family == AF_INET6;
  inet_ntop(family, six ? static_cast<const void*>(&ip) : &four, word, sizeof word);
  std::snprintf(text, sizeof text, six ? "[%s]:%u" : "%s:%u", word, unsigned{ntohs(port)});
}

void Address::give(sockaddr* address, socklen_t* bytes) const {
  const sockaddr_in four{.sin_family = AF_INET, .sin_port = port, .sin_addr = unmapped(ip)};
  const sockaddr_in6 six{.sin6_family = AF_INET6, .sin6_port = port, .sin6_addr = ip};
  const bool is_six = family == AF_INET6;
  const socklen_t size = is_six ? sizeof six : sizeof four;
  std::memcpy(address, is_six ? static_cast<const void*>(&six) : &four, std::min(*bytes, size));
  *bytes = size;
}

Address Address::from(in_port_t from_port) const {
  Address local = *this;  // a connection to a loopback address has the same local IP address
  local.port = from_port;
  return local;
}

}  // namespace hatrpc::preload
