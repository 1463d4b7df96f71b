// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/options.h"

#include <gmock/gmock.h>

#include <vector>

namespace hat {
namespace {

Result<Options> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "hatrpcd");
  std::vector<char*> argv;
  for (auto& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  return parse_options(static_cast<int>(words.size()), argv.data());
}

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
}

TEST(Options, SaysWhichWordIsWrong) {
  EXPECT_THAT(parse({"--chek"}).error().message, testing::HasSubstr("'--chek' is not an option"));
  EXPECT_THAT(parse({"-c"}).error().message, testing::HasSubstr("'-c' needs a value"));
  EXPECT_THAT(parse({"-q"}).error().message, testing::HasSubstr("valid only with --check"));
  EXPECT_THAT(parse({"--log-level", "loud"}).error().message, testing::HasSubstr("'loud'"));
  for (const char* time : {"", "0", "-1", "5m", "86401"}) {
    EXPECT_THAT(parse({"--stay", time}).error().message, testing::HasSubstr("expected seconds"));
  }
  EXPECT_THAT(parse({"node.yaml"}).error().message, testing::HasSubstr("'node.yaml'"));
}

}  // namespace
}  // namespace hat
