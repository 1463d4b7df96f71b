// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/options.h"

#include <getopt.h>

#include <array>
#include <charconv>
#include <optional>
#include <system_error>

namespace hat {
namespace {

std::optional<std::chrono::seconds> seconds_of(const std::string& text) {
  constexpr int kDay = 86'400;
  int seconds = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, seconds);
  if (error != std::errc() || rest != end || seconds < 1 || seconds > kDay) return std::nullopt;
  return std::chrono::seconds(seconds);
}

}  // namespace

Result<Options> parse_options(int argc, char** argv) {
  constexpr int kVersion = 256;
  constexpr int kLogLevel = 257;
  constexpr int kTakeover = 258;
  constexpr int kServingFile = 259;
  constexpr int kStay = 260;
  static const std::array<option, 10> long_options = {
      {{"config", required_argument, nullptr, 'c'},
       {"check", no_argument, nullptr, 't'},
       {"quiet", no_argument, nullptr, 'q'},
       {"log-level", required_argument, nullptr, kLogLevel},
       {"takeover", no_argument, nullptr, kTakeover},
       {"serving-file", required_argument, nullptr, kServingFile},
       {"stay", required_argument, nullptr, kStay},
       {"help", no_argument, nullptr, 'h'},
       {"version", no_argument, nullptr, kVersion},
       {nullptr, 0, nullptr, 0}}};
  Options options;
  opterr = 0;
  optind = 0;  // glibc: starts a new scan
  for (int key; (key = getopt_long(argc, argv, ":c:tqh", long_options.data(), nullptr)) != -1;) {
    const std::string value = optarg == nullptr ? "" : optarg;
    const std::string word = argv[optind - 1];
    if (key == 'c') {
      options.config = value;
    } else if (key == 't') {
      options.check = true;
    } else if (key == 'q') {
      options.quiet = true;
    } else if (key == 'h') {
      options.help = true;
    } else if (key == kTakeover) {
      options.takeover = true;
    } else if (key == kServingFile) {
      options.serving_file = value;
    } else if (key == kStay) {
      const auto seconds = seconds_of(value);
      if (!seconds) return fail("--stay '" + value + "': expected seconds, 1 to 86400");
      options.stay_time = *seconds;
    } else if (key == kVersion) {
      options.version = true;
    } else if (key == kLogLevel) {
      if (value == "debug")
        options.log_level = -1;
      else if (value == "info")
        options.log_level = 0;
      else if (value == "warning")
        options.log_level = 1;
      else if (value == "error")
        options.log_level = 2;
      else
        return fail("--log-level '" + value + "': expected debug, info, warning or error");
    } else {
      return fail(key == ':' ? "'" + word + "' needs a value" : "'" + word + "' is not an option");
    }
  }
  if (optind < argc) return fail("'" + std::string(argv[optind]) + "' is not an option");
  if (options.quiet && !options.check) return fail("'--quiet' is valid only with --check");
  return options;
}

}  // namespace hat
