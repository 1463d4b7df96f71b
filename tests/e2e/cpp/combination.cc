// SPDX-License-Identifier: Apache-2.0
// tests/e2e/cpp/combination.cc: parses combinations of address, transport and protocol from the
// command line.
#include "tests/e2e/cpp/combination.h"

#include <algorithm>
#include <stdexcept>

namespace probe_peer {
namespace {

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

}  // namespace

bool Combination::wants(const std::string& one) const {
  return !contains(skipped, one) && (cases.empty() || contains(cases, one));
}

std::vector<Combination> read_combinations(int argc, char** argv, const std::string& first) {
  std::vector<Combination> result;
  for (int i = 1; i < argc; i += 2) {
    const std::string option = argv[i];
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a value");
    const std::string value = argv[i + 1];
    if (option == first) {
      result.emplace_back().address = value;
      continue;
    }
    if (result.empty()) throw std::invalid_argument(first + " must come before " + option);
    Combination& combination = result.back();
    if (option == "--transport") {
      combination.transport = value;
    } else if (option == "--protocol") {
      combination.protocol = value;
    } else if (option == "--server") {
      combination.server = value;
    } else if (option == "--multiplexed") {
      combination.multiplexed = value;
    } else if (option == "--rdma-config") {
      combination.rdma_config = value;
    } else if (option == "--rdma-manifest") {
      combination.rdma_manifest = value;
    } else if (option == "--case") {
      combination.cases.push_back(value);
    } else if (option == "--skip") {
      combination.skipped.push_back(value);
    } else if (option == "--timeout-ms") {
      combination.timeout_ms = std::stoi(value);
    } else if (option == "--large") {
      combination.large_bytes = static_cast<uint32_t>(std::stoul(value));
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  if (result.empty()) throw std::invalid_argument(first + " is missing");
  return result;
}

}  // namespace probe_peer
