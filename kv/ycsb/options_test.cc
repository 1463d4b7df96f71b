// kv/ycsb/options_test.cc: checks what the command line of hatkv-ycsb means and how it is refused.
#include "kv/ycsb/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hat::ycsb {
namespace {

const std::string kFile = HAT_WORKLOADS "/a";

Result<Command> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "hatkv-ycsb");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(YcsbOptions, ReadsEveryOption) {
  const auto parsed = parse({"run",    "-p",        "recordcount=77", "--address", "shm:/r",
                             "-P",     kFile,       "--threads",      "5",         "--seconds",
                             "0.5",    "--warm-up", "0.25",           "--seed",    "9",
                             "--json", "-p",        "fieldcount=3",   "-p",        "nonsense=1"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const Options& options = std::get<Options>(*parsed);
  EXPECT_FALSE(options.load);
  EXPECT_EQ(to_string(options.address), "shm:/r");
  EXPECT_EQ(options.workload.records, 77u);  // -p wins, though the file comes after it
  EXPECT_EQ(options.workload.fields, 3u);
  EXPECT_EQ(options.workload.threads, 5u);
  EXPECT_EQ(options.workload.seconds, 0.5);
  EXPECT_EQ(options.warm_up_seconds, 0.25);
  EXPECT_EQ(options.seed, 9u);
  EXPECT_TRUE(options.json);
  EXPECT_THAT(options.unknown_keys, testing::ElementsAre("nonsense"));
}

TEST(YcsbOptions, LoadIsACommand) {
  const auto parsed = parse({"load", "--address", "tcp:h:1", "-P", kFile});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_TRUE(std::get<Options>(*parsed).load);
}

TEST(YcsbOptions, HelpWinsOverWhatIsMissing) {
  EXPECT_TRUE(std::holds_alternative<HelpWanted>(parse({"run", "--help"}).value()));
  EXPECT_TRUE(std::holds_alternative<VersionWanted>(parse({"--version"}).value()));
}

struct RefusedRow {
  std::vector<std::string> words;
  const char* message;  // a part of it
};

TEST(YcsbOptions, RefusesWithWhatWasFoundAndExpected) {
  const RefusedRow rows[] = {
      {{}, "first word: found '', expected load or run"},
      {{"go"}, "found 'go', expected load or run"},
      {{"run", "-P", kFile}, "--address is missing"},
      {{"run", "--address", "tcp:h:1"}, "-P is missing"},
      {{"run", "--address", "h", "-P", kFile}, "--address: "},
      {{"run", "--address", "tcp:h:1", "-P", "/no/such"}, "/no/such: cannot read"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "--seconds", "x"}, "--seconds: found 'x'"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "--warm-up", "-1"}, "--warm-up: found '-1'"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "--seed", "0"}, "--seed: found '0'"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "--threads", "0"}, "-p: threadcount: found"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "-p", "x"}, "-p: found 'x', expected KEY"},
      {{"run", "--address", "tcp:h:1", "-P", kFile, "--fast"}, "unknown option '--fast'"},
  };
  for (const RefusedRow& row : rows) {
    SCOPED_TRACE(row.message);
    const auto parsed = parse(row.words);
    ASSERT_FALSE(parsed);
    EXPECT_THAT(parsed.error().message, testing::HasSubstr(row.message));
  }
}

}  // namespace
}  // namespace hat::ycsb
