// SPDX-License-Identifier: Apache-2.0
#include "base/address.h"

#include <sys/un.h>

#include "base/number.h"

namespace hat {
namespace {

constexpr std::string_view kForms =
    "expected tcp:HOST:PORT, tcp:[IPV6]:PORT, unix:/ABSOLUTE/PATH or shm:/ABSOLUTE/PATH";

std::unexpected<Error> bad(std::string_view text, std::string_view why) {
  return fail(ErrorCode::kInvalid,
              "'" + std::string(text) + "' " + std::string(why) + "; " + std::string(kForms));
}

Result<Address> parse_path(Address::Kind kind, std::string_view text, std::string_view path) {
  if (path.empty() || path.front() != '/') return bad(text, "has no absolute path");
  if (path.size() >= sizeof(sockaddr_un::sun_path)) {
    return bad(text, "has a path over " + std::to_string(sizeof(sockaddr_un::sun_path) - 1) +
                         " bytes, the kernel's limit for a unix socket");
  }
  return Address{kind, {}, 0, std::string(path)};
}

Result<Address> parse_tcp(std::string_view text, std::string_view rest) {
  const size_t colon = rest.rfind(':');
  if (colon == std::string_view::npos) return bad(text, "has no port");
  std::string_view host = rest.substr(0, colon);
  const std::string_view port_text = rest.substr(colon + 1);
  if (host.size() >= 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return bad(text, "needs brackets around its IPv6 address");
  }
  if (host.empty()) return bad(text, "has no host");
  const auto port = parse_number<uint16_t>(port_text);
  if (!port) return bad(text, "has a port that is not a number from 0 to 65535");
  return Address{Address::Kind::kTcp, std::string(host), *port, {}};
}

}  // namespace

Result<Address> parse_address(std::string_view text) {
  if (text.starts_with("unix:")) {
    return parse_path(Address::Kind::kUnix, text, text.substr(5));
  }
  if (text.starts_with("shm:")) return parse_path(Address::Kind::kShm, text, text.substr(4));
  if (text.starts_with("tcp:")) return parse_tcp(text, text.substr(4));
  return bad(text, "is not an address");
}

bool Address::is_path() const {
  switch (kind) {
    case Kind::kTcp:
      return false;
    case Kind::kUnix:
    case Kind::kShm:
      break;
  }
  return true;
}

bool Address::uses_rings() const {
  switch (kind) {
    case Kind::kTcp:
    case Kind::kUnix:
      return false;
    case Kind::kShm:
      break;
  }
  return true;
}

std::string to_string(const Address& address) {
  switch (address.kind) {
    case Address::Kind::kUnix:
      return "unix:" + address.path;
    case Address::Kind::kShm:
      return "shm:" + address.path;
    case Address::Kind::kTcp:
      break;
  }
  const bool ipv6 = address.host.find(':') != std::string::npos;
  return "tcp:" + (ipv6 ? "[" + address.host + "]" : address.host) + ":" +
         std::to_string(address.port);
}

}  // namespace hat
