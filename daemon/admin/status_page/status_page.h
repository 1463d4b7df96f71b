// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/status_page.h: the page that browsers get from the admin address.
//
// The page is one HTML text, which the build makes from page.html, page.css and the *.js files. Its
// scripts request all data that the page shows from /status, /functions and /routes.
//
// Thread   Any thread may call make_status_page().
#pragma once

#include <string>
#include <string_view>

namespace hat {

struct StatusPage {
  std::string html;
  std::string policy;  // the Content-Security-Policy header to send with `html`
};

// Returns the page with a new random nonce (a Content-Security-Policy nonce, not the nonce of a
// lane). The browser runs only scripts with this nonce, so it does not run a script that an
// attacker inserts into the page.
StatusPage make_status_page();

// The page without a nonce: it has `@NONCE@` in each place for the nonce.
extern const std::string_view kStatusPageText;

}  // namespace hat
