// SPDX-License-Identifier: Apache-2.0
// bench/atb/report.h: formats the results of a measurement as JSON or as a table.
#pragma once

#include <string>
#include <vector>

#include "bench/atb/load.h"

namespace hat::atb {

// The results of one function with one pair of payload sizes.
struct Line {
  Function function{};
  Sizes sizes;
  double seconds = 0;
  OfFunction measured;
};

// The results of all clients of one load, with the calls of all functions.
struct LoadLine {
  bench::Account account;
  double seconds = 0;
};

struct Report {
  Options options;
  std::vector<Line> lines;
  std::vector<LoadLine> loads;
};

std::string to_json(const Report& report);  // docs/atb.md lists its fields
std::string to_table(const Report& report);

}  // namespace hat::atb
