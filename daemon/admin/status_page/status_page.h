// SPDX-License-Identifier: Apache-2.0
// daemon/admin/status_page/status_page.h: the page that browsers get from the admin address.
//
// It is one text with its style and its scripts in it (page.html says of what it is made), and asks
// /status, /functions and /routes for all that it shows.
//
// Thread   any.
#pragma once

#include <string>
#include <string_view>

namespace hat {

struct StatusPage {
  std::string html;
  std::string policy;  // its Content-Security-Policy
};

// Each with a nonce of its own: what somebody got into the page does not know it, and does not run.
StatusPage make_status_page();

// As it was built: `@NONCE@` stands where the nonce belongs.
extern const std::string_view kStatusPageText;

}  // namespace hat
