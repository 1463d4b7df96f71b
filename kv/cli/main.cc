// SPDX-License-Identifier: Apache-2.0
// kv/cli/main.cc: hatkv: a key-value server, and the commands that call it.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "kv/cli/commands.h"
#include "kv/cli/help.h"
#include "kv/server/serve.h"

namespace hat {
namespace {

bool asks_for(Words words, std::string_view option, std::string_view short_option) {
  const auto end = std::ranges::find(words, "--");
  return std::find_if(words.begin(), end, [&](std::string_view word) {
           return word == option || word == short_option;
         }) != end;
}

int print_help(std::string_view command) {
  const auto page = std::ranges::find(kHelpPages, command, &HelpPage::command);
  std::fwrite(page->text.data(), 1, page->text.size(), stdout);
  return EXIT_SUCCESS;
}

int wrong_usage(const Error& error, const std::string& command) {
  const std::string help = command.empty() ? "hatkv --help" : "hatkv " + command + " --help";
  return complain(error.message + " (see " + help + ")", kExitUsage);
}

int run(Words words) {
  // `serve` may be left out: if the first argument is an option, it is an option of serve.
  const bool is_named = !words.empty() && !words[0].starts_with('-');
  const std::string command(is_named ? words[0] : "serve");
  const Words rest = words.subspan(is_named ? 1 : 0);
  if (words.empty()) return wrong_usage({"a command is missing"}, "");
  if (command == "help") return print_help("");
  if (command != "serve" && !is_command(command)) {
    return wrong_usage({"'" + command + "' is not a command"}, "");
  }
  if (!is_named && words[0].starts_with("--connect")) {
    return wrong_usage({"the command must be the first word: hatkv COMMAND --connect ADDRESS"}, "");
  }
  if (asks_for(rest, "--help", "-h")) return print_help(is_named ? command : "");
  if (asks_for(rest, "--version", "--version")) {
    std::puts("hatkv " HAT_VERSION);
    return EXIT_SUCCESS;
  }
  if (command != "serve") {
    const auto options = parse_command(command, rest);
    if (!options) return wrong_usage(options.error(), command);
    return run_command(command, *options);
  }
  const auto options = parse_serve(rest);
  if (!options) return wrong_usage(options.error(), command);
  const auto served = serve(*options);
  return served ? EXIT_SUCCESS : complain(served.error().message, kExitRefused);
}

}  // namespace
}  // namespace hat

int main(int argc, char** argv) {
  const std::vector<std::string_view> words(argv + 1, argv + argc);
  return hat::run(words);
}
