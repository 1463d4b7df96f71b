// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/client.cc: runs each test case over each combination of transport and protocol, and
// prints which cases pass.

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <exception>

#include "tests/e2e/cpp/cases.h"
#include "tests/e2e/cpp/combination.h"

namespace probe_peer {
namespace {

bool run_case(const Combination& combination, const Case& one) {
  try {
    Session session(combination);
    one.run(session);
    std::printf("ok %s\n", one.name.c_str());
    return true;
  } catch (const std::exception& error) {
    std::string why = error.what();
    std::replace(why.begin(), why.end(), '\n', ' ');
    std::printf("FAIL %s %s\n", one.name.c_str(), why.c_str());
    return false;
  }
}

int run(int argc, char** argv) {
  signal(SIGPIPE, SIG_IGN);
  bool all_ok = true;
  for (const Combination& combination : read_combinations(argc, argv, "--connect")) {
    std::printf("run %s\n", combination.address.c_str());
    for (const Case& one : cases_for(combination)) {
      if (!combination.wants(one.name)) continue;
      all_ok = run_case(combination, one) && all_ok;
      std::fflush(stdout);
    }
  }
  return all_ok ? 0 : 1;
}

}  // namespace
}  // namespace probe_peer

int main(int argc, char** argv) {
  try {
    return probe_peer::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "probe_client: %s\n", error.what());
    return 64;
  }
}
