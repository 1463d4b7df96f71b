// SPDX-License-Identifier: Apache-2.0
// kv/cli/main.cc: the program hatkv: a key-value server, and the commands that call the server.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

#include "kv/cli/commands.h"
#include "kv/cli/help.h"
#include "kv/server/serve.h"

namespace hat {
namespace {

int print_help(std::string_view command) {
  const auto page = std::ranges::find(kHelpPages, command, &HelpPage::command);
  std::fwrite(page->text.data(), 1, page->text.size(), stdout);
  return EXIT_SUCCESS;
}

int wrong_usage(const std::string& message, const std::string& command) {
  const std::string help = command.empty() ? "hatkv --help" : "hatkv " + command + " --help";
  return complain(message + " (see " + help + ")", kExitUsage);
}

int print_version() {
  std::puts("hatkv " HAT_VERSION);
  return EXIT_SUCCESS;
}

int run_serve(const std::vector<std::string>& arguments, std::string_view help_page) {
  const auto options = parse_serve(arguments);
  if (!options) return wrong_usage(options.error().message, "serve");
  if (options->action == Action::kShowHelp) return print_help(help_page);
  if (options->action == Action::kShowVersion) return print_version();
  const auto served = serve(*options);
  return served ? EXIT_SUCCESS : complain(served.error().message, kExitRefused);
}

int run_client(const std::string& command, const std::vector<std::string>& arguments) {
  const auto options = parse_command(command, arguments);
  if (!options) return wrong_usage(options.error().message, command);
  if (options->action == Action::kShowHelp) return print_help(command);
  if (options->action == Action::kShowVersion) return print_version();
  return run_command(command, *options);
}

// Runs a command line. If the first argument is an option, the command is `serve`. Returns the exit
// status.
int run(const std::vector<std::string>& arguments) {
  if (arguments.empty()) return wrong_usage("a command is missing", "");
  const std::string& first = arguments[0];
  if (first.starts_with("--connect")) {
    return wrong_usage("the command must be the first word: hatkv COMMAND --connect ADDRESS", "");
  }
  if (first.starts_with('-')) return run_serve(arguments, "");
  const std::vector<std::string> rest(arguments.begin() + 1, arguments.end());
  if (first == "help") return print_help("");
  if (first == "serve") return run_serve(rest, first);
  if (is_command(first)) return run_client(first, rest);
  return wrong_usage("'" + first + "' is not a command", "");
}

}  // namespace
}  // namespace hat

int main(int argc, char** argv) { return hat::run({argv + 1, argv + argc}); }
