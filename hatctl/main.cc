// SPDX-License-Identifier: Apache-2.0
// hatctl/main.cc: the main function of hatctl: reads the arguments and runs one command.
#include <curl/curl.h>
#include <glog/logging.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "hatctl/options.h"
#include "hatctl/run.h"

int main(int argc, char** argv) {
  using namespace hat::hatctl;
  // The daemon's code that some commands use logs what hatctl prints as text of its own.
  FLAGS_minloglevel = google::GLOG_FATAL;
  const auto options = parse_options({argv + 1, argv + argc}, std::getenv("HATRPCD_SOCKET"));
  if (!options) {
    std::cerr << "hatctl: " << options.error().message << "; see `hatctl --help`\n";
    return kUsage;
  }
  if (options->action == hat::Action::kShowVersion) return std::puts("hatctl " HAT_VERSION) < 0;
  if (options->action == hat::Action::kShowHelp) {
    return std::fwrite(options->help.data(), 1, options->help.size(), stdout) == 0;
  }
  if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK) {
    std::cerr << "hatctl: libcurl cannot start\n";
    return kUnreachable;
  }
  const int status = run(*options);
  curl_global_cleanup();
  return status;
}
