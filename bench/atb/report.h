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

struct Report {
  Options options;
  std::vector<Line> lines;
  uint64_t fewest = 0;  // calls of the client with the fewest, and with the most, in all
  uint64_t most = 0;
};

std::string to_json(const Report& report);  // docs/atb.md lists its fields
std::string to_table(const Report& report);

}  // namespace hat::atb
