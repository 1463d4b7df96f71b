// SPDX-License-Identifier: Apache-2.0
// hatctl/main.cc: the main function of hatctl: reads the arguments and runs one command.
#include <curl/curl.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>

#include "hatctl/options.h"
#include "hatctl/run.h"

int main(int argc, char** argv) {
  using namespace hat::hatctl;
  const auto options = parse_options(argc, argv, std::getenv("HATRPCD_SOCKET"));
  if (!options) {
    std::cerr << "hatctl: " << options.error().message << "; see `hatctl --help`\n";
    return kUsage;
  }
  if (options->version) return std::puts("hatctl " HAT_VERSION) < 0;
  if (!options->help.empty()) return std::fputs(options->help.c_str(), stdout) < 0;
  if (curl_global_init(CURL_GLOBAL_NOTHING) != CURLE_OK) {
    std::cerr << "hatctl: libcurl cannot start\n";
    return kUnreachable;
  }
  const int status = run(*options);
  curl_global_cleanup();
  return status;
}
