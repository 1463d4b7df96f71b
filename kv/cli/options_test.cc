// SPDX-License-Identifier: Apache-2.0
// kv/cli/options_test.cc: tests how hatkv parses command lines, and which command lines it rejects.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "kv/cli/command_options.h"
#include "kv/cli/commands.h"
#include "kv/cli/help.h"
#include "kv/server/serve_options.h"
#include "tests/help_text.h"

namespace hat {
namespace {

using Line = std::vector<std::string>;

TEST(ServeOptions, ReadsEveryOption) {
  const auto options = parse_serve(Line{"--listen",
                                        "tcp:127.0.0.1:0",
                                        "--listen",
                                        "shm:/kv.ring",
                                        "--data",
                                        "/d",
                                        "--durability",
                                        "nometasync",
                                        "--manifest",
                                        "/m.yaml",
                                        "--readers",
                                        "9",
                                        "--commit-wait-us",
                                        "0",
                                        "--map-bytes",
                                        "65536",
                                        "--max-bytes",
                                        "131072",
                                        "--backups",
                                        "/b",
                                        "--metrics",
                                        "tcp:127.0.0.1:9",
                                        "--server",
                                        "threadpool",
                                        "--buffered",
                                        "--protocol",
                                        "compact",
                                        "--threads",
                                        "3",
                                        "--connections",
                                        "5"});
  ASSERT_TRUE(options) << options.error().message;
  ASSERT_EQ(options->listen.size(), 2u);
  EXPECT_EQ(to_string(options->listen[0]), "tcp:127.0.0.1:0");
  EXPECT_EQ(to_string(options->listen[1]), "shm:/kv.ring");
  EXPECT_EQ(options->data, "/d");
  EXPECT_EQ(options->durability, Durability::kNoMetaSync);
  EXPECT_EQ(options->manifest, "/m.yaml");
  EXPECT_EQ(options->readers, 9u);
  EXPECT_EQ(options->commit_wait_us, 0u);
  EXPECT_EQ(options->map_bytes, 65536u);
  EXPECT_EQ(options->max_bytes, 131072u);
  EXPECT_EQ(options->backups, "/b");
  EXPECT_EQ(to_string(*options->metrics), "tcp:127.0.0.1:9");
  EXPECT_EQ(options->server, ServerKind::kThreadPool);
  EXPECT_FALSE(options->framed);
  EXPECT_TRUE(options->compact);
  EXPECT_EQ(options->threads, 3u);
  EXPECT_EQ(options->connections, 5u);
}

TEST(ServeOptions, AcknowledgedMeansSyncedUnlessToldOtherwise) {
  const auto options = parse_serve(Line{"--listen", "unix:/kv.sock", "--data", "/d"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_EQ(options->durability, Durability::kSync);
}

TEST(CommandOptions, ReadsWordsAndOptionsInAnyOrder) {
  const auto options = parse_command(
      "scan", Line{"--limit", "7", "user:", "--keys", "--connect", "unix:/s", "--start", "user:b"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->words, testing::ElementsAre("user:"));
  EXPECT_EQ(options->limit, 7u);
  EXPECT_TRUE(options->keys);
  EXPECT_EQ(options->start, "user:b");
  EXPECT_EQ(to_string(options->connect), "unix:/s");
}

TEST(CommandOptions, WhatFollowsTwoHyphensAreWords) {
  const auto options = parse_command("put", Line{"--compact", "--", "-k", "--"});
  EXPECT_FALSE(options);  // there is no option --compact, only `--protocol compact`
  const auto words = parse_command("put", Line{"--", "-k", "--"});
  ASSERT_TRUE(words) << words.error().message;
  EXPECT_THAT(words->words, testing::ElementsAre("-k", "--"));
}

TEST(CommandOptions, AValueOfOneHyphenIsAWord) {
  const auto options = parse_command("put", Line{"k", "-"});
  ASSERT_TRUE(options) << options.error().message;
  EXPECT_THAT(options->words, testing::ElementsAre("k", "-"));
}

TEST(CommandOptions, TheAddressComesFromTheEnvironmentUnlessGiven) {
  setenv("HATKV_ADDRESS", "shm:/e", 1);
  EXPECT_EQ(to_string(parse_command("stats", {})->connect), "shm:/e");
  EXPECT_EQ(to_string(parse_command("stats", Line{"--connect", "unix:/g"})->connect), "unix:/g");
  setenv("HATKV_ADDRESS", "nowhere", 1);
  EXPECT_THAT(parse_command("stats", {}).error().message, testing::HasSubstr("$HATKV_ADDRESS: "));
  unsetenv("HATKV_ADDRESS");
  EXPECT_EQ(to_string(parse_command("stats", {})->connect), "tcp:127.0.0.1:9091");
}

struct RefusedLine {
  const char* name;
  std::string command;
  Line words;
  const char* message_part;
};

const RefusedLine kRefusedLines[] = {
    {"no_listen", "serve", {"--data", "/d"}, "--listen is missing"},
    {"no_data", "serve", {"--listen", "tcp:127.0.0.1:0"}, "--data is missing"},
    {"address", "serve", {"--listen", "127.0.0.1:0"}, "--listen: '127.0.0.1:0' is not an address"},
    {"unknown",
     "serve",
     {"--frames"},
     "'--frames' is not an option of hatkv serve (did you mean '--framed'?)"},
    {"no_value", "serve", {"--data"}, "--data: its value is missing"},
    {"word", "serve", {"all"}, "'all' is not an argument of hatkv serve"},
    {"server", "serve", {"--server", "forking"}, "--server: found 'forking', expected threaded, "},
    {"protocol", "serve", {"--protocol", "json"}, "found 'json', expected binary or compact"},
    {"durability",
     "serve",
     {"--durability", "full"},
     "found 'full', expected sync, nometasync, everysec or nosync"},
    {"number", "serve", {"--threads", "3x"}, "--threads: found '3x', expected a number from 1"},
    {"zero", "serve", {"--readers", "0"}, "--readers: found '0', expected a number from 1"},
    {"readers",
     "serve",
     {"--readers", "10001"},
     "found '10001', expected a number from 1 to 10000"},
    {"timeout",
     "get",
     {"--timeout", "2147484", "k"},
     "found '2147484', expected a number from 1 to 86400"},
    {"wait", "serve", {"--commit-wait-us", "2000000"}, "expected microseconds from 0 to 1000000"},
    {"nonblocking_buffered",
     "serve",
     {"--listen", "tcp:127.0.0.1:0", "--data", "/d", "--server", "nonblocking", "--buffered"},
     "supports only the framed transport"},
    {"metrics_on_unix",
     "serve",
     {"--listen", "tcp:127.0.0.1:0", "--data", "/d", "--metrics", "unix:/m"},
     "--metrics: found 'unix:/m', expected a tcp address"},
    {"get_nothing", "get", {}, "found 0 arguments, expected KEY..."},
    {"put_key", "put", {"k"}, "found 1 argument, expected KEY VALUE"},
    {"scan_two", "scan", {"a", "b"}, "found 2 arguments, expected [PREFIX]"},
    {"another_commands", "get", {"--limit", "1", "k"}, "'--limit' is not an option of hatkv get"},
    {"load_nothing", "load", {}, "give either --records or --file"},
    {"load_both", "load", {"--records", "1", "--file", "-"}, "give either --records or --file"},
    {"load_long_keys", "load", {"--records", "1", "--key-bytes", "512"}, "at most 511"},
    {"load_short_keys",
     "load",
     {"--records", "1", "--key-bytes", "4"},
     "more bytes than the prefix"},
    {"load_large_batch",
     "load",
     {"--records", "1", "--batch", "10000", "--value-bytes", "10000"},
     "more than one call may carry"},
};

template <class T>
std::string message_of(const Result<T>& result) {
  return result ? "" : result.error().message;
}

class LinesRefused : public testing::TestWithParam<RefusedLine> {};

TEST_P(LinesRefused, NameTheMistake) {
  const RefusedLine& row = GetParam();
  std::string message;
  if (row.command == "serve") {
    message = message_of(parse_serve(row.words));
  } else {
    message = message_of(parse_command(row.command, row.words));
  }
  EXPECT_THAT(message, testing::HasSubstr(row.message_part));
}

INSTANTIATE_TEST_SUITE_P(Rows, LinesRefused, testing::ValuesIn(kRefusedLines),
                         [](const auto& row) { return std::string(row.param.name); });

TEST(Help, EveryCommandHasAPageWithExamples) {
  for (const HelpPage& page : kHelpPages) {
    EXPECT_THAT(page.text, testing::HasSubstr("examples:\n  hatkv ")) << page.command;
    EXPECT_TRUE(page.command.empty() || page.command == "serve" || is_command(page.command));
    for (size_t at = 0; at < page.text.size();) {
      const size_t end = page.text.find('\n', at);
      EXPECT_LE(end - at, 100u) << page.text.substr(at, end - at);
      at = end + 1;
    }
  }
}

TEST(Help, ListsOptionsThatTheCommandTakes) {
  for (const HelpPage& page : kHelpPages) {
    const std::string command(page.command.empty() ? "get" : page.command);
    for (const std::string& option : options_in(page.text)) {
      const std::string message = command == "serve" ? message_of(parse_serve({option}))
                                                     : message_of(parse_command(command, {option}));
      EXPECT_FALSE(message.contains("is not an option")) << command << " " << option;
    }
  }
}

}  // namespace
}  // namespace hat
