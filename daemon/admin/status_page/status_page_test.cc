// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/status_page/status_page.h"

#include <gmock/gmock.h>

#include "daemon/metrics/fallback.h"
#include "engine/failure.h"

// These tests check the page's text. tests/e2e/scenarios/status_page_test.py runs the page in a
// browser.
namespace hat {
namespace {

using testing::HasSubstr;
using testing::Not;

size_t count_of(std::string_view text, std::string_view part) {
  size_t count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

std::string nonce_of(const StatusPage& page) {
  const size_t begin = page.html.find("<script nonce=\"") + sizeof("<script nonce=\"") - 1;
  return page.html.substr(begin, page.html.find('"', begin) - begin);
}

TEST(StatusPage, IsWhole) {
  EXPECT_TRUE(kStatusPageText.starts_with("<!doctype html>"));
  EXPECT_TRUE(kStatusPageText.ends_with("</html>\n"));
  for (const char* part : {".skip:focus {", "function ratesBetween", "function securityText",
                           "lookAgainAndAgain();"}) {
    EXPECT_EQ(count_of(kStatusPageText, part), 1u) << part;
  }
  for (const char* mark : {"@CSS@", "@RATES@", "@SECURITY@", "@PAGE@"}) {
    EXPECT_THAT(kStatusPageText, Not(HasSubstr(mark)));
  }
}

TEST(StatusPage, HasANonceThatIsNewEachTime) {
  const StatusPage page = make_status_page();
  const std::string nonce = nonce_of(page);
  EXPECT_EQ(nonce.size(), 32u);
  EXPECT_THAT(page.html, HasSubstr("<style nonce=\"" + nonce + "\">"));
  EXPECT_THAT(page.html, Not(HasSubstr("@NONCE@")));
  EXPECT_THAT(page.policy, HasSubstr("script-src 'nonce-" + nonce + "'"));
  EXPECT_THAT(page.policy, HasSubstr("style-src 'nonce-" + nonce + "'"));
  EXPECT_NE(nonce_of(make_status_page()), nonce);
}

TEST(StatusPage, ShowsSlowCallsAndEjectedPeers) {
  for (const char* part : {"id=\"slow-heading\">Slow calls<", "\"oldest_us\"", "(\"slow\", {",
                           "(\"peers?avoided=1\", {", "\"took_us\"", "\"waited_us\"", "\"wire_us\"",
                           "\"peer_us\"", "\"server_us\"", "\"reply_us\""}) {
    EXPECT_THAT(kStatusPageText, HasSubstr(part));
  }
}

// The page's scripts must not use functions that interpret text as markup or code. The page's
// policy forbids most of them too, but only some browsers enforce it.
TEST(StatusPage, MakesNoMarkupOfText) {
  for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(",
                          "DOMParser", "createContextualFragment", "srcdoc", "javascript:"}) {
    EXPECT_THAT(kStatusPageText, Not(HasSubstr(way)));
  }
}

TEST(StatusPage, KnowsWhatEachTokenMeans) {
  for (const auto& failure : engine::kFailureTexts) {
    EXPECT_THAT(kStatusPageText, HasSubstr("\n  " + std::string(failure.token) + ": \""));
  }
  for (const char* name : kFallbackNames) {
    EXPECT_THAT(kStatusPageText, HasSubstr("\n  " + std::string(name) + ": \""));
  }
}

}  // namespace
}  // namespace hat
