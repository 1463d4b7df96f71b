// SPDX-License-Identifier: Apache-2.0
#include "hatctl/options.h"

#include <getopt.h>

#include <algorithm>
#include <vector>

#include "base/number.h"
#include "hatctl/help.h"

namespace hat::hatctl {
namespace {

constexpr std::string_view kCommandsExpected =
    "status, routes, top, reload, drain, calibrate, certs, doctor, ping or metrics";
constexpr uint64_t kDaysMax = 3650;
constexpr size_t kSocketPathBytesMax = 107;  // of sockaddr_un, without the final NUL

enum Key : int {
  kSocket = 256,
  kJson,
  kDryRun,
  kInterval,
  kCount,
  kOnce,
  kWrite,
  kDays,
  kTrustDomain,
  kConfig,
  kVersion
};

constexpr std::array<option, 13> kLong = {
    {{"socket", required_argument, nullptr, kSocket},
     {"json", no_argument, nullptr, kJson},
     {"dry-run", no_argument, nullptr, kDryRun},
     {"interval", required_argument, nullptr, kInterval},
     {"count", required_argument, nullptr, kCount},
     {"once", no_argument, nullptr, kOnce},
     {"write", required_argument, nullptr, kWrite},
     {"days", required_argument, nullptr, kDays},
     {"trust-domain", required_argument, nullptr, kTrustDomain},
     {"config", required_argument, nullptr, kConfig},
     {"help", no_argument, nullptr, 'h'},
     {"version", no_argument, nullptr, kVersion},
     {nullptr, 0, nullptr, 0}}};

// An option that belongs to one command only.
struct Belongs {
  Key key;
  Command command;
  const char* text;
};
constexpr std::array kBelongs = {Belongs{kDryRun, Command::kReload, "--dry-run"},
                                 Belongs{kInterval, Command::kTop, "--interval"},
                                 Belongs{kCount, Command::kTop, "--count"},
                                 Belongs{kOnce, Command::kTop, "--once"},
                                 Belongs{kWrite, Command::kCalibrate, "--write"},
                                 Belongs{kDays, Command::kCerts, "--days"},
                                 Belongs{kTrustDomain, Command::kCerts, "--trust-domain"},
                                 Belongs{kConfig, Command::kDoctor, "--config"}};

const CommandHelp& help_of(Command command) {
  return *std::ranges::find(kCommandHelps, command, &CommandHelp::command);
}

Result<void> take(int key, const std::string& value, Options& options) {
  if (key == kSocket) {
    if (value.empty() || value.size() > kSocketPathBytesMax) {
      return fail("--socket '" + value + "': expected a path of 1 to 107 bytes");
    }
    options.socket = value;
    options.socket_told = true;
  } else if (key == kJson) {
    options.json = true;
  } else if (key == kDryRun) {
    options.dry_run = true;
  } else if (key == kWrite) {
    if (value.empty()) return fail("--write '': expected a file");
    options.write = value;
  } else if (key == kConfig) {
    if (value.empty()) return fail("--config '': expected a file");
    options.config = value;
  } else if (key == kTrustDomain) {
    options.trust_domain = value;  // make_certificates() checks it
  } else if (key == kDays) {
    const auto days = parse_number<uint64_t>(value);
    if (!days || *days > kDaysMax) {
      return fail("--days '" + value + "': expected a whole number from 0 to 3650");
    }
    options.days = *days;
  } else if (key == kOnce) {
    options.count = 1;
  } else if (key == kVersion) {
    options.version = true;
  } else if (key == kCount) {
    const auto count = parse_number<uint64_t>(value);
    if (!count || *count == 0) {
      return fail("--count '" + value + "': expected a whole number from 1");
    }
    options.count = *count;
  } else if (key == kInterval) {
    const auto seconds = parse_number<double>(value);
    if (!seconds || !(*seconds >= 0.1 && *seconds <= 3600)) {
      return fail("--interval '" + value + "': expected seconds from 0.1 to 3600");
    }
    options.interval = std::chrono::milliseconds(static_cast<int64_t>(*seconds * 1000));
  }
  return {};
}

// Takes the words of `hatctl certs` or `hatctl certs make DIR NODE...`.
Result<void> take_certs_words(const std::vector<std::string>& words, Options& options) {
  if (words.size() == 1) return {};
  if (words[1] != "make") {
    return fail("'" + words[1] +
                "' is not an argument of hatctl certs; `hatctl certs make DIR NODE...` makes "
                "certificates for tests");
  }
  if (words.size() < 4)
    return fail(
        "certs make needs a directory and at least one node: hatctl certs make DIR NODE...");
  options.folder = words[2];
  options.nodes.assign(words.begin() + 3, words.end());
  return {};
}

Result<void> take_words(const std::vector<std::string>& words, const std::vector<int>& keys,
                        Options& options) {
  if (words.empty()) {
    return fail("no command is given; expected " + std::string(kCommandsExpected));
  }
  const auto found = std::ranges::find(kCommandHelps, words[0], &CommandHelp::name);
  if (found == kCommandHelps.end()) {
    return fail("'" + words[0] + "' is not a command; expected " + std::string(kCommandsExpected));
  }
  options.command = found->command;
  const bool calibrates = found->command == Command::kCalibrate;
  const bool examines = found->command == Command::kDoctor;
  const size_t words_max = found->command == Command::kRoutes || calibrates ? 2 : 1;
  if (examines) {
    options.peers.assign(words.begin() + 1, words.end());
  } else if (found->command == Command::kCerts) {
    HAT_TRY_VOID(take_certs_words(words, options));
  } else if (words.size() > words_max) {
    return fail("'" + words[words_max] + "': hatctl " + words[0] + " takes no more arguments");
  } else if (words.size() == 2) {
    (calibrates ? options.peer : options.wanted) = words[1];
  }
  for (const Belongs& belongs : kBelongs) {
    if (std::ranges::count(keys, belongs.key) != 0 && belongs.command != options.command) {
      return fail(std::string(belongs.text) + " belongs to hatctl " +
                  std::string(help_of(belongs.command).name) + ", not to hatctl " + words[0]);
    }
  }
  if (options.json && options.command == Command::kMetrics) {
    return fail(
        "--json does not apply to metrics, which have their own text format; use `hatctl top "
        "--json`");
  }
  return {};
}

}  // namespace

Result<Options> parse_options(int argc, char** argv, const char* socket_in_environment) {
  Options options;
  if (socket_in_environment != nullptr && *socket_in_environment != '\0') {
    HAT_TRY_VOID(take(kSocket, socket_in_environment, options));
  }
  bool help = false;
  std::vector<int> keys;
  opterr = 0;
  optind = 0;  // resets the getopt_long() of glibc after an earlier call
  for (int key; (key = getopt_long(argc, argv, ":h", kLong.data(), nullptr)) != -1;) {
    const std::string word = argv[optind - 1];
    if (key == ':') return fail("'" + word + "' needs a value");
    if (key == '?') return fail("'" + word + "' is not an option");
    help |= key == 'h';
    keys.push_back(key);
    HAT_TRY_VOID(take(key, optarg == nullptr ? "" : optarg, options));
  }
  if (std::ranges::count(keys, kOnce) != 0 && std::ranges::count(keys, kCount) != 0) {
    return fail("--once and --count: give one of them");
  }
  const std::vector<std::string> words(argv + optind, argv + argc);
  if (options.version) return options;
  if (help && words.empty()) {
    options.help = kHelp;
    return options;
  }
  HAT_TRY_VOID(take_words(words, keys, options));
  if (help) {
    options.help = help_of(options.command).text;
  } else if (options.command == Command::kCalibrate && options.peer.empty()) {
    return fail("calibrate needs a peer: hatctl calibrate PEER; `hatctl status` lists the peers");
  }
  return options;
}

}  // namespace hat::hatctl
