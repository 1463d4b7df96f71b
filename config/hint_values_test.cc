// SPDX-License-Identifier: Apache-2.0
// config/hint_values_test.cc: checks that every hint of the table in config/hint_keys.h can be set,
// merged with other hints (overlay()) and written again, and is in the schema of manifests.
#include "config/hint_values.h"

#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>

#include "config/hint_keys.h"

namespace hat {
namespace {

// A value of each hint, in the spelling that hint_words() writes.
const std::map<std::string_view, std::string> kValues = {
    {"perf_goal", "res_util"}, {"concurrency", "64"}, {"payload_size", "4KiB"},
    {"polling", "event"},      {"protocol", "rfp"},   {"transport", "tcp"},
    {"numa", "nic"},           {"priority", "high"},  {"timeout_ms", "250"},
    {"idempotent", "true"},    {"plan", "learned"},
};

std::string schema_of_manifests() {
  std::ifstream file(HAT_SOURCE_DIR "/config/schema/manifest.schema.json");
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(HintValues, OfEveryKeyAreSetOverlaidAndWrittenAgain) {
  for (const HintKey& key : kHintKeys) {
    SCOPED_TRACE(key.name);
    const auto value = kValues.find(key.name);
    ASSERT_NE(value, kValues.end()) << "add a value to kValues";
    Hints hints;
    ASSERT_TRUE(set_hint(hints, key.name, value->second));
    const std::vector<std::pair<std::string, std::string>> words = {
        {std::string(key.name), value->second}};
    EXPECT_EQ(hint_words(hints), words);
    EXPECT_EQ(overlay(hints, {}), hints) << "a stronger group keeps its hint";
    EXPECT_EQ(overlay({}, hints), hints) << "a weaker group's hint applies";
  }
}

TEST(HintValues, OfEveryKeyAreFoundAndClearedAlone) {
  Hints all;
  for (const auto& [key, value] : kValues) ASSERT_TRUE(set_hint(all, key, value));
  for (const auto& [key, value] : kValues) {
    SCOPED_TRACE(key);
    EXPECT_EQ(hint_value(all, key), value);
    Hints others = all;
    ASSERT_TRUE(clear_hint(others, key));
    EXPECT_EQ(hint_value(others, key), std::nullopt);
    EXPECT_EQ(hint_words(others).size(), kValues.size() - 1);
    ASSERT_TRUE(set_hint(others, key, value));
    EXPECT_EQ(others, all);
  }
}

TEST(HintValues, AreFoundAndClearedByTheOlderSpelling) {
  Hints hints;
  ASSERT_TRUE(set_hint(hints, "polling", "busy"));
  EXPECT_EQ(hint_value(hints, "perf_pref"), "busy");
  ASSERT_TRUE(clear_hint(hints, "perf_pref"));
  EXPECT_TRUE(hints.empty());
  EXPECT_EQ(hint_value(hints, "perf_gaol"), std::nullopt);
  EXPECT_FALSE(clear_hint(hints, "perf_gaol"));
}

TEST(HintValues, OfEveryKeyAreInTheSchemaOfManifests) {
  const std::string schema = schema_of_manifests();
  for (const HintKey& key : kHintKeys) {
    EXPECT_NE(schema.find("\"" + std::string(key.name) + "\": {"), std::string::npos) << key.name;
  }
  for (const std::string_view protocol : kProtocolWords) {
    EXPECT_NE(schema.find("\"" + std::string(protocol) + "\""), std::string::npos) << protocol;
  }
}

}  // namespace
}  // namespace hat
