// SPDX-License-Identifier: Apache-2.0
// hintgen/command_line_test.cc: the arguments that hintgen accepts, and the errors for all others.
#include "hintgen/command_line.h"

#include <gmock/gmock.h>

#include "base/cores.h"
#include "config/worker_placement.h"
#include "tests/help_text.h"

namespace hat::hintgen {
namespace {

TEST(CommandLine, ReadsEveryOption) {
  const auto line =
      parse_command_line({"--explain", "-I", "lib", "-Imore", "-o", "out", "--side", "client",
                          "--cores", "28", "--nic-cores", "14", "--no-rdma", "kv.thrift"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->mode, Mode::kExplain);
  EXPECT_EQ(line->input, "kv.thrift");
  EXPECT_EQ(line->output, "out");
  EXPECT_EQ(line->include_dirs, (std::vector<std::string>{"lib", "more"}));
  EXPECT_EQ(line->side, Side::kClient);
  EXPECT_EQ(line->host.cores, 28u);
  EXPECT_EQ(line->host.nic_cores, 14u);
  EXPECT_FALSE(line->host.rdma);
}

TEST(CommandLine, ExplainsForTheCoresOfThisHostUnlessToldOtherwise) {
  const auto here = parse_command_line({"--explain", "kv.thrift"});
  ASSERT_TRUE(here) << here.error().message;
  EXPECT_EQ(here->host.cores, allowed_cores().size());
  EXPECT_EQ(here->host.nic_cores,
            count_nic_cores(read_host_cores({}, allowed_cores()), here->host.cores));
  EXPECT_TRUE(here->host.rdma);
  const auto other = parse_command_line({"--explain", "--cores", "28", "kv.thrift"});
  EXPECT_EQ(other->host.core_counts(), (engine::CoreCounts{28, 28}));
}

TEST(CommandLine, WritesAManifestUnlessToldOtherwise) {
  const auto line = parse_command_line({"kv.thrift"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->mode, Mode::kManifest);
  EXPECT_EQ(line->output, "-");
}

TEST(CommandLine, NamesTheMistake) {
  const struct {
    std::vector<std::string> words;
    const char* message;
  } rows[] = {
      {{}, "no IDL file is named"},
      {{""}, "no IDL file is named"},
      {{"--explian", "a"}, "'--explian' is not an option of hintgen (did you mean '--explain'?)"},
      {{"a.thrift", "b.thrift"}, "both 'a.thrift' and 'b.thrift' are named"},
      {{"--check", "--strip", "a"}, "--check and --strip cannot be combined"},
      {{"--check", "-o", "f", "a"}, "--check writes no file"},
      {{"--cores", "2", "a"}, "--cores has an effect only with --explain"},
      {{"--no-rdma", "--check", "a"}, "--no-rdma has an effect only with --explain"},
      {{"-o"}, "-o: its value is missing"},
      {{"-o", "", "a"}, "-o: found '', expected a file"},
      {{"--explain", "--cores", "many", "a"}, "--cores: found 'many', expected a number"},
      {{"--explain", "--cores", "2", "--nic-cores", "3", "a"}, "--nic-cores 3 is more than"},
      {{"--explain", "--side", "both", "a"}, "--side: found 'both', expected client or server"},
  };
  for (const auto& row : rows) {
    const auto line = parse_command_line(row.words);
    ASSERT_FALSE(line) << row.message;
    EXPECT_THAT(line.error().message, testing::HasSubstr(row.message));
  }
}

TEST(CommandLine, GivesHelpWithoutAFile) {
  EXPECT_EQ(parse_command_line({"--help"})->action, Action::kShowHelp);
  EXPECT_EQ(parse_command_line({"--check", "--version"})->action, Action::kShowVersion);
}

TEST(CommandLine, TakesTheOptionsOfTheHelp) {
  ASSERT_GT(options_in(help_text()).size(), 8u);
  for (const std::string& option : options_in(help_text())) {
    const auto parsed = parse_command_line({option});
    EXPECT_TRUE(parsed || !parsed.error().message.contains("is not an option")) << option;
  }
}

}  // namespace
}  // namespace hat::hintgen
