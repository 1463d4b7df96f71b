// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/status_page.h: the page that browsers get from the admin address.
//
// The page is one text that includes its style and its scripts (page.html names its parts). It
// requests all data that it shows from /status, /functions and /routes.
//
// Thread   Any.
#pragma once

#include <string>
#include <string_view>

namespace hat {

struct StatusPage {
  std::string html;
  std::string policy;  // its Content-Security-Policy
};

// Returns the page with a new nonce. A script that an attacker gets into the page does not know the
// nonce, so the browser does not run it.
StatusPage make_status_page();

// The page as it was built, with `@NONCE@` in place of each nonce.
extern const std::string_view kStatusPageText;

}  // namespace hat
