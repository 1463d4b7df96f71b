// SPDX-License-Identifier: Apache-2.0
// bench/atb/report.h: what was measured, as JSON or as a table.
#pragma once

#include <string>
#include <vector>

#include "bench/atb/load.h"

namespace hat::atb {

// One function at one size.
struct Line {
  Function function{};
  Sizes sizes;
  double seconds = 0;
  OfFunction measured;
};

// All clients of one load, whichever function they called.
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
