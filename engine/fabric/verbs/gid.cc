// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/verbs/gid.h"

#include <arpa/inet.h>

#include <algorithm>

namespace hat::engine {
namespace {

bool is_zero(const GidBytes& gid) {
  return std::ranges::all_of(gid, [](uint8_t byte) { return byte == 0; });
}

bool is_link_local(const GidBytes& gid) { return gid[0] == 0xfe && (gid[1] & 0xc0) == 0x80; }

}  // namespace

bool is_ipv4(const GidBytes& gid) {
  constexpr std::array<uint8_t, 12> kMapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  return std::equal(kMapped.begin(), kMapped.end(), gid.begin());
}

int gid_rank(const GidBytes& gid, bool roce_v2) {
  if (is_zero(gid) || is_link_local(gid)) return 0;
  if (roce_v2) return is_ipv4(gid) ? 3 : 2;
  return 1;
}

std::string gid_text(const GidBytes& gid) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  inet_ntop(AF_INET6, gid.data(), text.data(), text.size());
  return text.data();
}

}  // namespace hat::engine
