// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/status_page/status_page.h"

#include <array>
#include <cstdio>
#include <random>

namespace hat {
namespace {

constexpr std::string_view kNonceMark = "@NONCE@";

std::string new_nonce() {
  std::random_device random;
  std::string nonce;
  for (int i = 0; i < 4; ++i) {
    std::array<char, 9> digits{};
    std::snprintf(digits.data(), digits.size(), "%08x", random());
    nonce += digits.data();
  }
  return nonce;
}

}  // namespace

StatusPage make_status_page() {
  const std::string nonce = new_nonce();
  StatusPage page;
  std::string_view rest = kStatusPageText;
  for (size_t mark = rest.find(kNonceMark); mark != std::string_view::npos;
       mark = rest.find(kNonceMark)) {
    page.html.append(rest.substr(0, mark)).append(nonce);
    rest.remove_prefix(mark + kNonceMark.size());
  }
  page.html.append(rest);
  page.policy = "default-src 'none'; script-src 'nonce-" + nonce + "'; style-src 'nonce-" + nonce +
                "'; connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; "
                "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
  return page;
}

}  // namespace hat
