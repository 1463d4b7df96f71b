// SPDX-License-Identifier: Apache-2.0
// hintgen/command_line_test.cc: the arguments that hintgen accepts, and the errors for all others.
#include "hintgen/command_line.h"

#include <gtest/gtest.h>

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

TEST(CommandLine, WritesAManifestUnlessToldOtherwise) {
  const auto line = parse_command_line({"kv.thrift"});
  ASSERT_TRUE(line) << line.error().message;
  EXPECT_EQ(line->mode, Mode::kManifest);
  EXPECT_EQ(line->output, "-");
}

TEST(CommandLine, RefusesWhatItDoesNotKnow) {
  for (const std::vector<std::string>& words : {std::vector<std::string>{},
                                                {"--explian", "kv.thrift"},
                                                {"a.thrift", "b.thrift"},
                                                {"--check", "--strip", "kv.thrift"},
                                                {"-o"},
                                                {"--explain", "--cores", "many", "kv.thrift"},
                                                {"--explain", "--side", "both", "kv.thrift"}}) {
    const auto line = parse_command_line(words);
    ASSERT_FALSE(line) << (words.empty() ? "nothing" : words[0]);
    EXPECT_FALSE(line.error().message.empty());
  }
}

}  // namespace
}  // namespace hat::hintgen
