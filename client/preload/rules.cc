// SPDX-License-Identifier: Apache-2.0
#include "client/preload/rules.h"

#include <sys/un.h>

#include <cstdio>
#include <cstdlib>

namespace hatrpc::preload {

bool Rule::covers(const Address& bound) const {
  if (bound == address) return true;
  if (bound.port != address.port) return false;
  // A socket at the IPv6 wildcard address usually accepts IPv4 connections, too.
  if (IN6_IS_ADDR_UNSPECIFIED(&bound.ip)) return true;
  const bool is_four = IN6_IS_ADDR_V4MAPPED(&bound.ip) && IN6_IS_ADDR_V4MAPPED(&address.ip);
  return is_four && bound.ip.s6_addr32[3] == INADDR_ANY;
}

std::vector<Rule> parse_rules(std::string_view name, std::string_view text,
                              std::string& diagnostic) {
  constexpr size_t kPathMax = sizeof(sockaddr_un::sun_path) - 1;
  std::vector<Rule> rules;
  while (!text.empty()) {
    const size_t comma = std::min(text.find(','), text.size());
    const std::string_view word = text.substr(0, comma);
    text.remove_prefix(std::min(comma + 1, text.size()));
    if (word.empty()) continue;
    const size_t equals = word.find('=');
    const auto address = Address::parse(word.substr(0, equals));
    const std::string_view path = equals == word.npos ? "" : word.substr(equals + 1);
    if (address && path.starts_with('/') && path.size() <= kPathMax) {
      rules.push_back({*address, std::string(path)});
    } else {
      diagnostic = std::string(name) + ": '" + std::string(word) +
                   "' is not ADDRESS:PORT=/PATH; an address is 127.0.0.1 or [::1]";
    }
  }
  return rules;
}

namespace {

// Returns a vector that is never destroyed, because threads can call connect(2) and listen(2) while
// the process exits.
const std::vector<Rule>& rules_of(const char* name) {
  std::string diagnostic;
  const char* text = std::getenv(name);
  auto* rules = new std::vector<Rule>(parse_rules(name, text == nullptr ? "" : text, diagnostic));
  if (!diagnostic.empty()) std::fprintf(stderr, "libhatrpc-preload: %s\n", diagnostic.c_str());
  return *rules;
}

}  // namespace

const std::vector<Rule>& connect_rules() {
  static const std::vector<Rule>& rules = rules_of("HATRPC_RINGS");
  return rules;
}

const std::vector<Rule>& listen_rules() {
  static const std::vector<Rule>& rules = rules_of(kListenVariable);
  return rules;
}

}  // namespace hatrpc::preload
