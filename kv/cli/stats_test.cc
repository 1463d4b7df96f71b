// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/stats.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hat {
namespace {

hatkv::Stats some_stats() {
  hatkv::Stats stats;
  stats.version = "0.1";
  stats.durability = "sync";
  stats.readers = 126;
  stats.readers_in_use = 2;
  stats.map_bytes = 16 << 20;
  stats.operations = {{"get", 3}, {"multiput", 0}};
  return stats;
}

TEST(Stats, AsTextHaveALineEach) {
  const std::string text = stats_text(some_stats());
  for (const char* line : {"version          0.1\n", "readers          2 of 126\n",
                           "map_bytes        16777216  (16 MiB)\n", "calls.get        3\n"}) {
    EXPECT_NE(text.find(line), std::string::npos) << text;
  }
}

TEST(Stats, AsJsonHaveTheNamesOfTheIdl) {
  const auto json = nlohmann::json::parse(stats_json(some_stats()));
  EXPECT_EQ(json.at("readers"), 126);
  EXPECT_EQ(json.at("readers_in_use"), 2);
  EXPECT_EQ(json.at("map_bytes"), 16 << 20);
  EXPECT_EQ(json.at("operations"), (nlohmann::json{{"get", 3}, {"multiput", 0}}));
}

TEST(Stats, AreJsonWhateverTheServerAnswers) {
  hatkv::Stats stats = some_stats();
  stats.version = R"(0.1 "quoted" \ and so on)";
  stats.durability = "\xff\n";
  stats.operations = {{R"(a"b\)", 1}};
  const std::string text = stats_json(stats);
  EXPECT_EQ(text.find('\n'), text.size() - 1) << "more than one line";
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("version"), stats.version);
  EXPECT_EQ(json.at("durability"), "\xef\xbf\xbd\n");  // U+FFFD
  EXPECT_EQ(json.at("operations").at(R"(a"b\)"), 1);
}

}  // namespace
}  // namespace hat
