// SPDX-License-Identifier: Apache-2.0
#include "config/yaml_text.h"

#include <gtest/gtest.h>

#include "config/manifest.h"

namespace hat {
namespace {

TEST(YamlText, IsQuotedIfAReaderTakesItForSomethingElse) {
  for (const char* text : {"",
                           "~",
                           "null",
                           "Null",
                           "NULL",
                           "y",
                           "Y",
                           "yes",
                           "Yes",
                           "YES",
                           "n",
                           "N",
                           "no",
                           "NO",
                           "on",
                           "On",
                           "off",
                           "OFF",
                           "true",
                           "True",
                           "FALSE",
                           "=",
                           "<<",
                           "0",
                           "7",
                           "-7",
                           "+12",
                           "017",
                           "0o17",
                           "0x1F",
                           "0b101",
                           "1_000",
                           "1.5",
                           ".5",
                           "-.5",
                           "5.",
                           "1e3",
                           "1.5e-3",
                           ".inf",
                           "-.INF",
                           "+.Inf",
                           ".nan",
                           ".NaN",
                           "1:30",
                           "190:20:30",
                           "190:20:30.15",
                           "2026-11-23",
                           "2026-11-23T10:00:00Z",
                           "2001-12-14 21:59:43.10 -5",
                           "-",
                           "1:1:9"}) {
    EXPECT_TRUE(needs_yaml_quotes(text)) << text;
  }
}

TEST(YamlText, StaysPlainOtherwise) {
  for (const char* text : {"yesterday", "only", "nothing", "nulls", "KV", "a.b", "_1", "x1:30",
                           "kv.thrift:1:9", "../kv.thrift", "1st.thrift", "e5", "deadbeef"}) {
    EXPECT_FALSE(needs_yaml_quotes(text)) << text;
  }
}

TEST(YamlText, NamesOfAManifestAreTexts) {
  Manifest manifest{.source = "0x1F"};
  manifest.services.push_back({.name = "on",
                               .functions = {{.name = "yes", .origin = "1:1:9"}, {.name = "f"}},
                               .origin = "2026-11-23"});
  manifest.services[0].access = AccessRule{{"no", "*.example"}, false};
  const std::string text = write_manifest(manifest);
  EXPECT_EQ(text.substr(text.find('\n') + 1),
            "hatrpc_manifest: 1\n"
            "source: \"0x1F\"\n"
            "services:\n"
            "  \"on\":\n"
            "    origin: \"2026-11-23\"\n"
            "    allow: [\"no\", \"*.example\"]\n"
            "    functions:\n"
            "      \"yes\":\n"
            "        origin: \"1:1:9\"\n"
            "        oneway: false\n"
            "      f:\n"
            "        oneway: false\n");
  Diagnostics diagnostics;
  EXPECT_EQ(read_manifest(text, "m.yaml", diagnostics), manifest) << diagnostics.text();
}

}  // namespace
}  // namespace hat
