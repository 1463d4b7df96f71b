// SPDX-License-Identifier: Apache-2.0
#include "kv/cli/command_options.h"

#include "kv/limits.h"
#include "kv/server_address.h"

namespace hat {
namespace {

constexpr uint32_t kClientsMax = 1024;

void declare_common(Arguments& parser, CommandOptions& options) {
  parser.option("--connect", read_address(options.connect));
  parser.flag("--framed", [&options] { options.framed = true; });
  parser.flag("--buffered", [&options] { options.framed = false; });
  parser.option("--protocol", read_one_of({"binary", "compact"}, [&options](size_t index) {
                  options.compact = index == 1;
                }));
  parser.option("--timeout", read_number(options.timeout_s, 1u, kTimeoutSecondsMax));
}

void declare_scan(Arguments& parser, CommandOptions& options) {
  parser.words("[PREFIX]", 0, 1, options.words);
  parser.option("--start", read_text(options.start));
  parser.option("--before", read_text(options.before));
  parser.option("--limit", read_number(options.limit));
  parser.flag("--keys", options.keys);
}

void declare_load(Arguments& parser, CommandOptions& options) {
  parser.option("--records", read_number(options.records));
  parser.option("--file", read_text(options.file));
  parser.option("--prefix", read_text(options.prefix));
  parser.option("--key-bytes", read_number(options.key_bytes));
  parser.option("--value-bytes", read_number(options.value_bytes, 1u, uint32_t{kValueBytesMax}));
  parser.option("--seed", read_number(options.seed));
  parser.option("--batch", read_number(options.batch, 1u, uint32_t{kBatchPairsMax}));
  parser.option("--clients", read_number(options.clients, 1u, kClientsMax));
  parser.flag("--quiet", options.quiet);
}

void declare(Arguments& parser, const std::string& command, CommandOptions& options) {
  constexpr size_t kAnyNumber = Arguments::kAnyNumber;
  declare_common(parser, options);
  if (command == "get") {
    parser.words("KEY...", 1, kAnyNumber, options.words);
    parser.flag("--raw", options.raw);
  } else if (command == "put") {
    parser.words("KEY VALUE", 2, 2, options.words);
  } else if (command == "del") {
    parser.words("KEY...", 1, kAnyNumber, options.words);
  } else if (command == "scan") {
    declare_scan(parser, options);
  } else if (command == "load") {
    declare_load(parser, options);
  } else if (command == "stats") {
    parser.flag("--json", options.json);
  } else if (command == "backup") {
    parser.words("NAME", 1, 1, options.words);
  }
}

Result<void> check_load(const CommandOptions& options) {
  if ((options.records == 0) == options.file.empty()) {
    return fail(ErrorCode::kInvalid, "load: give either --records or --file");
  }
  if (options.key_bytes > kKeyBytesMax || options.key_bytes < options.prefix.size() + 1) {
    return fail(ErrorCode::kInvalid, "--key-bytes: found " + std::to_string(options.key_bytes) +
                                         ", expected more bytes than the prefix has, and at most " +
                                         std::to_string(kKeyBytesMax));
  }
  const size_t batch_bytes =
      size_t{options.batch} * (size_t{options.key_bytes} + options.value_bytes);
  if (options.records != 0 && batch_bytes > kBatchBytesMax) {
    return fail(ErrorCode::kInvalid, "--batch: " + std::to_string(options.batch) +
                                         " records of this size have more than " +
                                         std::to_string(kBatchBytesMax) +
                                         " bytes, which is more than one call may carry");
  }
  return {};
}

}  // namespace

Result<CommandOptions> parse_command(const std::string& command,
                                     const std::vector<std::string>& arguments) {
  CommandOptions options;
  HAT_TRY(options.connect, default_server_address());
  Arguments parser("hatkv " + command);
  declare(parser, command, options);
  HAT_TRY(options.action, parser.parse(arguments));
  if (options.action == Action::kRun && command == "load") HAT_TRY_VOID(check_load(options));
  return options;
}

}  // namespace hat
