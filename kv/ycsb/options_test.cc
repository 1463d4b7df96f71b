// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/options_test.cc: tests how hatkv-ycsb parses command lines, and which command lines it
// rejects.
#include "kv/ycsb/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "tests/help_text.h"

namespace hat::ycsb {
namespace {

const std::string kFile = HAT_WORKLOADS "/a";

Result<Options> parse(const std::vector<std::string>& words) { return parse_options(words); }

TEST(YcsbOptions, ReadsEveryOption) {
  const auto parsed = parse({"run",    "-p",        "recordcount=77", "--connect", "shm:/r",
                             "-P",     kFile,       "--threads",      "5",         "--seconds",
                             "0.5",    "--warm-up", "0.25",           "--seed",    "9",
                             "--json", "-p",        "fieldcount=3",   "-p",        "nonsense=1"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Options& options = *parsed;
  EXPECT_FALSE(options.load);
  EXPECT_EQ(to_string(options.address), "shm:/r");
  EXPECT_EQ(options.workload.records, 77u);  // -p wins although the file comes after it
  EXPECT_EQ(options.workload.fields, 3u);
  EXPECT_EQ(options.workload.threads, 5u);
  EXPECT_EQ(options.workload.seconds, 0.5);
  EXPECT_EQ(options.warm_up_seconds, 0.25);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_TRUE(options.json);
  EXPECT_THAT(options.unknown_keys, testing::ElementsAre("nonsense"));
}

TEST(YcsbOptions, LoadIsACommandAndHasADefaultAddress) {
  unsetenv("HATKV_ADDRESS");
  const auto parsed = parse({"load", "-P", kFile});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(parsed->load);
  EXPECT_EQ(to_string(parsed->address), "tcp:127.0.0.1:9091");
  setenv("HATKV_ADDRESS", "unix:/e", 1);
  EXPECT_EQ(to_string(parse({"load", "-P", kFile})->address), "unix:/e");
  unsetenv("HATKV_ADDRESS");
}

TEST(YcsbOptions, HelpWinsOverWhatIsMissing) {
  EXPECT_EQ(parse({"run", "--help"})->action, Action::kShowHelp);
  EXPECT_EQ(parse({"--version"})->action, Action::kShowVersion);
}

struct RefusedRow {
  std::vector<std::string> words;
  const char* message;  // part of the message
};

TEST(YcsbOptions, RefusesWithWhatWasFoundAndExpected) {
  const RefusedRow rows[] = {
      {{"-P", kFile}, "no command is given; expected load or run"},
      {{"go", "-P", kFile}, "'go' is not a command of hatkv-ycsb; expected load or run"},
      {{"run", "load", "-P", kFile}, "'load' is not an argument of hatkv-ycsb run"},
      {{"run"}, "-P is missing"},
      {{"run", "-P"}, "-P: its value is missing"},
      {{"run", "--connect", "h", "-P", kFile}, "--connect: "},
      {{"run", "-P", "/no/such"}, "/no/such: cannot read"},
      {{"run", "-P", kFile, "--seconds", "x"}, "--seconds: found 'x'"},
      {{"run", "-P", kFile, "--seconds", "inf"}, "--seconds: found 'inf'"},
      {{"run", "-P", kFile, "--warm-up", "-1"}, "--warm-up: found '-1'"},
      {{"run", "-P", kFile, "--seed", "0"}, "--seed: found '0'"},
      {{"run", "-P", kFile, "--threads", "0"}, "-p: threadcount: found '0'"},
      {{"run", "-P", kFile, "-p", "x"}, "-p: found 'x', expected KEY=VALUE"},
      {{"run", "-P", kFile, "--fast"}, "'--fast' is not an option of hatkv-ycsb run"},
  };
  for (const RefusedRow& row : rows) {
    SCOPED_TRACE(row.message);
    const auto parsed = parse(row.words);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(row.message));
  }
}

TEST(YcsbOptions, AreThoseOfTheHelp) {
  ASSERT_GT(options_in(kHelp).size(), 8u);
  for (const std::string& option : options_in(kHelp)) {
    const auto parsed = parse({"run", option});
    EXPECT_TRUE(parsed || !parsed.error().message.contains("is not an option")) << option;
  }
}

}  // namespace
}  // namespace hat::ycsb
