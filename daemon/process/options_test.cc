// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/options.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/help_text.h"

namespace hat {
namespace {

Result<Options> parse(const std::vector<std::string>& words) { return parse_options(words); }

TEST(Options, TakesEachOption) {
  const auto options = parse({"-c", "node.yaml", "--check", "-q", "--log-level", "debug"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->config, "node.yaml");
  EXPECT_TRUE(options->check && options->quiet);
  EXPECT_EQ(options->log_level, -1);
  EXPECT_TRUE(parse({"--takeover"})->takeover);
  EXPECT_FALSE(parse({})->takeover);
  EXPECT_EQ(parse({"--serving-file", "/run/serving"})->serving_file, "/run/serving");
  EXPECT_EQ(parse({"--stay", "300"})->stay_time, std::chrono::seconds(300));
  EXPECT_EQ(parse({})->stay_time, std::chrono::seconds(0));
  EXPECT_EQ(parse({})->config, "/etc/hatrpc/hatrpcd.yaml");
  EXPECT_EQ(parse({"--check", "--help"})->action, Action::kShowHelp);
}

TEST(Options, SaysWhichWordIsWrong) {
  EXPECT_THAT(parse({"--chek"}).error().message, testing::HasSubstr("'--chek' is not an option"));
  EXPECT_THAT(parse({"-c"}).error().message, testing::HasSubstr("-c: its value is missing"));
  EXPECT_THAT(parse({"-q"}).error().message, testing::HasSubstr("valid only with --check"));
  EXPECT_THAT(parse({"--log-level", "loud"}).error().message,
              testing::HasSubstr("expected debug, info, warning or error"));
  for (const char* time : {"", "0", "-1", "5m", "86401"}) {
    EXPECT_THAT(parse({"--stay", time}).error().message,
                testing::HasSubstr("expected seconds from 1 to 86400"));
  }
  EXPECT_THAT(parse({"node.yaml"}).error().message, testing::HasSubstr("'node.yaml'"));
}

TEST(Options, AreThoseOfTheHelp) {
  ASSERT_GT(options_in(kHelp).size(), 9u);
  for (const std::string& option : options_in(kHelp)) {
    const auto parsed = parse({option});
    EXPECT_TRUE(parsed || !parsed.error().message.contains("is not an option")) << option;
  }
}

}  // namespace
}  // namespace hat
