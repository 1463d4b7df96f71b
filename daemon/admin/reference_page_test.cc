// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>

#include "base/quantities.h"
#include "config/limit_keys.h"
#include "config/yaml.h"
#include "daemon/admin/fake_control.h"
#include "daemon/admin/metrics_page.h"
#include "daemon/admin/metrics_reader_for_tests.h"

// Checks that each list in docs/reference.md has the same entries as the list in the code.
namespace hat {
namespace {

using namespace std::chrono_literals;

std::string file_text(const std::string& path) {
  std::ifstream file(HAT_SOURCE_DIR "/" + path);
  EXPECT_TRUE(file) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

// Returns the words in back-quotes at the start of each row of the table under `heading`.
std::set<std::string> first_column(const std::string& text, const std::string& heading) {
  const size_t begin = text.find("\n## " + heading + "\n");
  EXPECT_NE(begin, std::string::npos) << heading;
  const std::string section = text.substr(begin, text.find("\n## ", begin + 1) - begin);
  std::set<std::string> words;
  const std::string row = "\n| `";
  for (size_t at = section.find(row); at != std::string::npos; at = section.find(row, at)) {
    at += row.size();
    const std::string word = section.substr(at, section.find('`', at) - at);
    EXPECT_TRUE(words.insert(word).second) << "twice: " << word;
  }
  return words;
}

class ReferencePage : public testing::Test {
 protected:
  const std::string page_ = file_text("docs/reference.md");
};

TEST_F(ReferencePage, HasEveryMetric) {
  FakeControl control;
  MetricFamilies page;
  const auto families = read_metrics(metrics_page(control, {}, page));
  ASSERT_TRUE(families) << families.error().message;
  std::set<std::string> metrics;
  for (const auto& family : *families) metrics.insert(family.name);
  EXPECT_THAT(first_column(page_, "Metrics"), testing::ContainerEq(metrics));
}

TEST_F(ReferencePage, HasEveryFailureToken) {
  std::set<std::string> tokens;
  for (const auto& failure : engine::kFailureTexts) tokens.emplace(failure.token);
  EXPECT_THAT(first_column(page_, "When hatrpcd answers itself"), testing::ContainerEq(tokens));
}

TEST_F(ReferencePage, HasEveryProtocolThatCarriesCalls) {
  std::set<std::string> names;
  for (size_t i = 0; i < kCarrierCount; ++i) names.emplace(name(static_cast<Carrier>(i)));
  EXPECT_THAT(first_column(page_, "What carried a call"), testing::ContainerEq(names));
}

TEST_F(ReferencePage, HasEveryFallback) {
  const std::set<std::string> names(kFallbackNames.begin(), kFallbackNames.end());
  EXPECT_THAT(first_column(page_, "When a call misses RDMA"), testing::ContainerEq(names));
}

TEST(SecurityPage, HasEveryFailureOfAHandshake) {
  const std::set<std::string> names(kTlsFailureNames.begin(), kTlsFailureNames.end());
  EXPECT_THAT(first_column(file_text("docs/security.md"), "When a handshake fails"),
              testing::ContainerEq(names));
}

TEST_F(ReferencePage, HasEveryLimit) {
#define HAT_KEY(member, key, ...) std::string("limits.") + (key),
  const std::set<std::string> keys = {HAT_SIZE_LIMITS(HAT_KEY) HAT_COUNT_LIMITS(HAT_KEY)
                                          HAT_TIME_LIMITS(HAT_KEY)};
#undef HAT_KEY
  EXPECT_THAT(first_column(page_, "Limits"), testing::ContainerEq(keys));
}

// Checks that the reference page and the manual page have the default of every limit.
TEST_F(ReferencePage, HasEveryLimitsDefault) {
  const std::string man = file_text("docs/man/hatrpcd.yaml.5");
  const auto expect = [&](const std::string& key, const std::string& standard) {
    EXPECT_THAT(page_, testing::HasSubstr("\n| `limits." + key + "` | " + standard + " |"));
    EXPECT_THAT(man, testing::HasSubstr("\n.B " + key + "\n" + standard + ": "));
  };
#define HAT_SIZE(member, key, standard, ...) expect(key, exact_size_text(standard));
#define HAT_COUNT(member, key, standard, ...) expect(key, std::to_string(standard));
#define HAT_TIME(member, key, standard, ...) expect(key, duration_text(standard));
  HAT_SIZE_LIMITS(HAT_SIZE)
  HAT_COUNT_LIMITS(HAT_COUNT)
  HAT_TIME_LIMITS(HAT_TIME)
#undef HAT_TIME
#undef HAT_COUNT
#undef HAT_SIZE
}

}  // namespace
}  // namespace hat
