// SPDX-License-Identifier: Apache-2.0
#include "config/learned_choices.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(LearnedChoices, AreReadAsTheyWereWritten) {
  const LearnedChoices all = {
      {{"host-a", "HatKV", "get"}, "rfp, busy (latency)"},
      {{"host-b", "HatKV", "get"}, "tcp, event"},
      {{"host-b", "HatKV", "put"}, "the plan of the hints, event"},
      {{"host-b", "on", "1:30"}, "direct_write_imm with 64KiB slots, busy"}};
  for (const KeptChoices& kept : {KeptChoices{"host-a", all}, KeptChoices{"1:30", {}}}) {
    const std::string text = write_kept_choices(kept);
    Diagnostics diagnostics;
    EXPECT_EQ(read_kept_choices(text, "l.yaml", diagnostics), kept) << text;
    EXPECT_EQ(diagnostics.text(), "");
    EXPECT_TRUE(may_be_kept_choices(text));
  }
  EXPECT_TRUE(may_be_kept_choices(""));
  EXPECT_FALSE(may_be_kept_choices("hatrpc_profile: 1\n"));
}

TEST(LearnedChoices, MistakesAreNamedWithTheirLocation) {
  struct Row {
    const char* text;
    const char* diagnostics;
  };
  for (const Row& row : {
           Row{"node: a\nchoices: {}\n",
               "l.yaml:1:1: error: learned choices has no 'hatrpc_learned'\n"},
           Row{"hatrpc_learned: 1\nchoices: {}\n",
               "l.yaml:1:1: error: learned choices has no 'node'\n"},
           Row{"hatrpc_learned: 2\nnode: a\nchoices: {}\n",
               "l.yaml:1:17: error: hatrpc_learned: '2'; expected a number from 1 to 1\n"},
           Row{"hatrpc_learned: 1\nnode: a\nchoices: {b: {S: {get: [rfp]}}}\n",
               "l.yaml:3:24: error: get is a list; expected a single value\n"},
           Row{"hatrpc_learned: 1\nnode: a\nchoices: {b: {S: {get: x, get: y}}}\n",
               "l.yaml:3:27: error: 'get' appears twice; first at line 3\n"},
           Row{"hatrpc_learned: 1\nnode: a\nchoices: {b: rfp}\n",
               "l.yaml:3:14: error: b is a single value; expected a mapping\n"},
       }) {
    Diagnostics diagnostics;
    read_kept_choices(row.text, "l.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), row.diagnostics) << row.text;
  }
}

}  // namespace
}  // namespace hat
