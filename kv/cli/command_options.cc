// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/command_options.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <limits>

#include "kv/limits.h"

namespace hat {
namespace {

constexpr const char* kDefaultAddress = "tcp:127.0.0.1:9091";
constexpr uint32_t kClientsMax = 1024;

using Asked = CommandOptions;

Result<void> take_client_protocol(Asked& options, std::string_view name, std::string_view value) {
  if (value != "binary" && value != "compact") {
    return wrong_word(name, value, "binary or compact");
  }
  options.compact = value == "compact";
  return {};
}

struct CommandOption {
  Option<Asked> option;
  std::string_view command;  // empty: an option of every command
};

constexpr CommandOption kCommandOptions[] = {
    {{"--connect", true, take<&Asked::connect>}, ""},
    {{"--framed", false, set<&Asked::framed>}, ""},
    {{"--buffered", false, set<&Asked::framed, false>}, ""},
    {{"--protocol", true, take_client_protocol}, ""},
    {{"--timeout", true, take_up_to<&Asked::timeout_s, kTimeoutSecondsMax>}, ""},
    {{"--raw", false, set<&Asked::raw>}, "get"},
    {{"--json", false, set<&Asked::json>}, "stats"},
    {{"--start", true, take<&Asked::start>}, "scan"},
    {{"--before", true, take<&Asked::before>}, "scan"},
    {{"--limit", true, take<&Asked::limit>}, "scan"},
    {{"--keys", false, set<&Asked::keys>}, "scan"},
    {{"--records", true, take<&Asked::records>}, "load"},
    {{"--file", true, take<&Asked::file>}, "load"},
    {{"--prefix", true, take<&Asked::prefix>}, "load"},
    {{"--key-bytes", true, take<&Asked::key_bytes>}, "load"},
    {{"--value-bytes", true, take<&Asked::value_bytes>}, "load"},
    {{"--seed", true, take<&Asked::seed>}, "load"},
    {{"--batch", true, take<&Asked::batch>}, "load"},
    {{"--clients", true, take<&Asked::clients>}, "load"},
    {{"--quiet", false, set<&Asked::quiet>}, "load"},
};

struct WordCount {
  std::string_view command;
  size_t min;
  size_t max;
  std::string_view expected;
};

constexpr size_t kAny = std::numeric_limits<size_t>::max();
constexpr std::array kWordCounts = {
    WordCount{"get", 1, kAny, "KEY..."}, WordCount{"put", 2, 2, "KEY VALUE"},
    WordCount{"del", 1, kAny, "KEY..."}, WordCount{"scan", 0, 1, "[PREFIX]"},
    WordCount{"load", 0, 0, "no words"}, WordCount{"stats", 0, 0, "no words"},
    WordCount{"backup", 1, 1, "NAME"},
};

Result<void> check_words(std::string_view command, size_t count) {
  const auto row = std::ranges::find(kWordCounts, command, &WordCount::command);
  if (count >= row->min && count <= row->max) return {};
  return fail(std::string(command) + ": found " + std::to_string(count) + " words, expected " +
              std::string(row->expected));
}

Result<void> check_load(const Asked& options) {
  if ((options.records == 0) == options.file.empty()) {
    return fail("load: give either --records or --file");
  }
  if (options.key_bytes > kKeyBytesMax || options.key_bytes < options.prefix.size() + 1) {
    return fail("--key-bytes: found " + std::to_string(options.key_bytes) +
                ", expected more bytes than the prefix has, and at most " +
                std::to_string(kKeyBytesMax));
  }
  if (options.value_bytes > kValueBytesMax) {
    return fail("--value-bytes: at most " + std::to_string(kValueBytesMax));
  }
  if (options.batch > kBatchPairsMax) {
    return fail("--batch: at most " + std::to_string(kBatchPairsMax));
  }
  const size_t batch_bytes =
      size_t{options.batch} * (size_t{options.key_bytes} + options.value_bytes);
  if (options.records != 0 && batch_bytes > kBatchBytesMax) {
    return fail("--batch: " + std::to_string(options.batch) +
                " records of this size have more than " + std::to_string(kBatchBytesMax) +
                " bytes, which is more than one call may carry");
  }
  if (options.clients > kClientsMax) {
    return fail("--clients: at most " + std::to_string(kClientsMax));
  }
  return {};
}

}  // namespace

Result<CommandOptions> parse_command(std::string_view command, Words words) {
  CommandOptions options;
  const char* from_environment = std::getenv("HATKV_ADDRESS");
  const bool is_set = from_environment != nullptr && *from_environment != '\0';
  HAT_TRY_VOID(
      read_word("HATKV_ADDRESS", is_set ? from_environment : kDefaultAddress, options.connect));
  std::vector<Option<Asked>> known;
  for (const CommandOption& row : kCommandOptions) {
    if (row.command.empty() || row.command == command) known.push_back(row.option);
  }
  HAT_TRY(const auto rest, parse_words<Asked>(words, known, options));
  options.words.assign(rest.begin(), rest.end());
  HAT_TRY_VOID(check_words(command, options.words.size()));
  if (command == "load") HAT_TRY_VOID(check_load(options));
  return options;
}

}  // namespace hat
