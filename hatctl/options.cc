// SPDX-License-Identifier: Apache-2.0
#include "hatctl/options.h"

#include <algorithm>
#include <array>

#include "hatctl/help.h"

namespace hat::hatctl {
namespace {

constexpr uint64_t kDaysMax = 3650;
constexpr uint32_t kCoresMax = 1 << 16;
constexpr size_t kSocketPathBytesMax = 107;  // of sockaddr_un, without the final NUL
constexpr double kIntervalMin = 0.1;         // seconds
constexpr double kIntervalMax = 3600;
constexpr uint64_t kConnectionsMost = 1000;  // that hatrpcd reports

Result<void> read_socket(const std::string& path, Options& options) {
  if (path.empty() || path.size() > kSocketPathBytesMax) {
    return unexpected_value(path, "a path of 1 to 107 bytes");
  }
  options.socket = path;
  options.socket_named = true;
  return {};
}

Result<void> read_http(const std::string& value, Options& options) {
  const auto address = parse_address(value);
  if (!address || address->kind != Address::Kind::kTcp) {
    return unexpected_value(value, "tcp:HOST:PORT, the address admin.listen");
  }
  options.http = value;
  return {};
}

Result<void> read_order(const std::string& value, Options& options) {
  constexpr std::array kOrders = {"calls", "unanswered", "buffered", "bytes", "age"};
  if (std::ranges::find(kOrders, value) == kOrders.end()) {
    return unexpected_value(value, "calls, unanswered, buffered, bytes or age");
  }
  options.connections.order = value;
  return {};
}

// Arguments that settle() checks and converts before it stores them in Options.
struct Given {
  std::vector<std::string> words;
  double interval = 1;  // seconds
  bool once = false;
};

void declare(Arguments& command, Command kind, Options& options, Given& given) {
  constexpr size_t kAnyNumber = Arguments::kAnyNumber;
  switch (kind) {
    case Command::kRoutes:
    case Command::kSlow:
      return command.words("at most one SERVICE, FUNCTION or SERVICE.FUNCTION", 0, 1, given.words);
    case Command::kExplain:
      return command.words("FUNCTION or SERVICE.FUNCTION; `hatctl routes` lists them", 1, 1,
                           given.words);
    case Command::kConnections:
      command.option("--by",
                     [&options](const std::string& order) { return read_order(order, options); });
      return command.option("--top",
                            read_number<uint64_t>(options.connections.shown, 1, kConnectionsMost));
    case Command::kTop:
      command.option("--interval",
                     read_number(given.interval, kIntervalMin, kIntervalMax, "seconds"));
      command.option("--count", read_number(options.count));
      return command.flag("--once", given.once);
    case Command::kReload:
      return command.flag("--dry-run", options.dry_run);
    case Command::kAdvise:
      command.words("at most one SERVICE, FUNCTION or SERVICE.FUNCTION", 0, 1, given.words);
      return command.flag("--apply", options.apply);
    case Command::kCalibrate:
      command.words("PEER; `hatctl status` lists the peers", 1, 1, given.words);
      return command.option("--write", read_non_empty_text(options.write, "a file"));
    case Command::kCerts:
      command.words("none, or: make DIR NODE...", 0, kAnyNumber, given.words);
      command.option("--days", read_number<uint64_t>(options.days, 0, kDaysMax));
      return command.option("--trust-domain", read_text(options.trust_domain));
    case Command::kDoctor:
      command.words("PEER...", 0, kAnyNumber, options.peers);
      return command.option("--config", read_non_empty_text(options.config, "a file"));
    case Command::kWhatIf:
      command.words("PROFILE, a file that `hatctl calibrate PEER --write PROFILE` wrote", 1, 1,
                    given.words);
      command.option("--config", read_non_empty_text(options.config, "a file"));
      command.option("--cores", read_number<uint32_t>(options.cores, 1, kCoresMax));
      return command.option("--nic-cores", read_number<uint32_t>(options.nic_cores, 1, kCoresMax));
    case Command::kRun:
      command.words("-- PROGRAM [ARGUMENT...]", 1, kAnyNumber, options.program);
      command.option("--library", read_non_empty_text(options.library, "a file"));
      return command.option(
          "--http", [&options](const std::string& value) { return read_http(value, options); });
    case Command::kStatus:
    case Command::kPeers:
    case Command::kDrain:
    case Command::kPing:
    case Command::kMetrics:
      return;
  }
}

// Stores the words after `hatctl certs` in `options`: none, or `make DIR NODE...`.
Result<void> take_certs_words(const std::vector<std::string>& words, Options& options) {
  if (words.empty()) return {};
  if (words[0] != "make") {
    return fail(ErrorCode::kInvalid,
                "'" + words[0] +
                    "' is not an argument of hatctl certs; `hatctl certs make DIR NODE...` makes "
                    "certificates for tests");
  }
  if (words.size() < 3) {
    return fail(
        ErrorCode::kInvalid,
        "certs make needs a directory and at least one node: hatctl certs make DIR NODE...");
  }
  options.folder = words[1];
  options.nodes.assign(words.begin() + 2, words.end());
  return {};
}

Result<void> settle(const Given& given, Options& options) {
  if (given.once && options.count != 0)
    return fail(ErrorCode::kInvalid, "--once and --count: give one of them");
  if (given.once) options.count = 1;
  options.interval = std::chrono::milliseconds(static_cast<int64_t>(given.interval * 1000));
  if (options.json && options.command == Command::kMetrics) {
    return fail(
        ErrorCode::kInvalid,
        "--json does not apply to metrics, which have their own text format; use `hatctl top "
        "--json`");
  }
  if (options.json && options.command == Command::kRun) {
    return fail(ErrorCode::kInvalid, "--json does not apply to run; write `--` before PROGRAM");
  }
  if (options.command == Command::kCerts) return take_certs_words(given.words, options);
  if (given.words.empty()) return {};
  std::string& word = options.command == Command::kCalibrate ? options.peer
                      : options.command == Command::kWhatIf  ? options.profile
                                                             : options.route;
  word = given.words[0];
  return {};
}

// Without `--` before `program`, an option that is meant for the program can have been taken as one
// of hatctl.
Result<void> require_separator(const std::vector<std::string>& arguments,
                               const std::vector<std::string>& program) {
  if (arguments.size() > program.size() &&
      arguments[arguments.size() - program.size() - 1] == "--") {
    return {};
  }
  return fail(ErrorCode::kInvalid,
              "run: write `--` before PROGRAM, so that options after it are "
              "the program's");
}

}  // namespace

Result<Options> parse_options(const std::vector<std::string>& arguments,
                              const char* socket_in_environment) {
  Options options;
  if (socket_in_environment != nullptr && *socket_in_environment != '\0') {
    if (auto read = read_socket(socket_in_environment, options); !read) {
      return std::unexpected(in("$HATRPCD_SOCKET", std::move(read.error())));
    }
  }
  Given given;
  Arguments parser("hatctl");
  parser.option("--socket",
                [&options](const std::string& path) { return read_socket(path, options); });
  parser.flag("--json", options.json);
  for (const CommandHelp& one : kCommandHelps) {
    declare(parser.command(std::string(one.name)), one.command, options, given);
  }
  HAT_TRY(options.action, parser.parse(arguments));
  const auto chosen = std::ranges::find(kCommandHelps, parser.chosen_command(), &CommandHelp::name);
  options.help = chosen == kCommandHelps.end() ? kHelp : chosen->text;
  if (options.action != Action::kRun) return options;
  options.command = chosen->command;
  HAT_TRY_VOID(settle(given, options));
  if (options.command == Command::kRun) HAT_TRY_VOID(require_separator(arguments, options.program));
  return options;
}

}  // namespace hat::hatctl
