// kv/options_test.cc: checks what the command line of hatkv means and how it is refused.
#include "kv/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace hat {
namespace {

Result<KvCommand> parse(std::vector<std::string> words) {
  words.insert(words.begin(), "hatkv");
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  return parse_options(static_cast<int>(argv.size()), argv.data());
}

TEST(KvOptions, ReadsEveryOption) {
  const auto parsed =
      parse({"--listen", "tcp:127.0.0.1:0", "--data", "/d", "--server", "threadpool", "--buffered",
             "--protocol", "compact", "--threads", "3", "--map-bytes", "65536", "--readers", "9"});
  ASSERT_TRUE(parsed) << parsed.error().message;
  const KvOptions& options = std::get<KvOptions>(*parsed);
  EXPECT_EQ(to_string(options.listen), "tcp:127.0.0.1:0");
  EXPECT_EQ(options.data, "/d");
  EXPECT_EQ(options.server, ServerKind::kThreadPool);
  EXPECT_FALSE(options.framed);
  EXPECT_TRUE(options.compact);
  EXPECT_EQ(options.threads, 3u);
  EXPECT_EQ(options.map_bytes, 65536u);
  EXPECT_EQ(options.readers, 9u);
}

TEST(KvOptions, HelpWinsOverWhatIsMissing) {
  EXPECT_TRUE(std::holds_alternative<HelpWanted>(parse({"--help"}).value()));
  EXPECT_TRUE(std::holds_alternative<VersionWanted>(parse({"--version"}).value()));
}

struct RefusedRow {
  const char* name;
  std::vector<std::string> words;
  const char* message_part;
};

const RefusedRow kRefused[] = {
    {"no_listen", {"--data", "/d"}, "--listen is missing"},
    {"no_data", {"--listen", "tcp:127.0.0.1:0"}, "--data is missing"},
    {"bad_address", {"--listen", "127.0.0.1:0"}, "--listen: '127.0.0.1:0' is no address"},
    {"unknown", {"--frames"}, "unknown option '--frames'"},
    {"server", {"--server", "forking"}, "--server: found 'forking', expected threaded"},
    {"protocol", {"--protocol", "json"}, "--protocol: found 'json', expected binary or compact"},
    {"number", {"--threads", "3x"}, "--threads: found '3x', expected a number from 1"},
    {"nonblocking_buffered",
     {"--listen", "tcp:127.0.0.1:0", "--data", "/d", "--server", "nonblocking", "--buffered"},
     "speaks framed alone"},
};

class KvOptionsRefused : public testing::TestWithParam<RefusedRow> {};

TEST_P(KvOptionsRefused, NamesTheMistake) {
  const auto parsed = parse(GetParam().words);
  ASSERT_FALSE(parsed);
  EXPECT_THAT(parsed.error().message, testing::HasSubstr(GetParam().message_part));
}

INSTANTIATE_TEST_SUITE_P(Rows, KvOptionsRefused, testing::ValuesIn(kRefused),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace hat
