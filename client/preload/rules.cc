// SPDX-License-Identifier: Apache-2.0
#include "client/preload/rules.h"

#include <sys/un.h>

#include <cstdio>
#include <cstdlib>

namespace hatrpc::preload {

std::vector<Rule> parse_rules(std::string_view text, std::string& diagnostic) {
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
      diagnostic = "HATRPC_RINGS: '" + std::string(word) +
                   "' is not ADDRESS:PORT=/PATH; an address is 127.0.0.1 or [::1]";
    }
  }
  return rules;
}

const std::vector<Rule>& rules() {
  // The vector is never destroyed, because threads can call connect(2) while the process exits.
  static const std::vector<Rule>& all = *[] {
    std::string diagnostic;
    const char* text = std::getenv("HATRPC_RINGS");
    auto* read = new std::vector<Rule>(parse_rules(text == nullptr ? "" : text, diagnostic));
    if (!diagnostic.empty()) std::fprintf(stderr, "libhatrpc-preload: %s\n", diagnostic.c_str());
    return read;
  }();
  return all;
}

}  // namespace hatrpc::preload
