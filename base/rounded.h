// SPDX-License-Identifier: Apache-2.0
// base/rounded.h: rounds measured numbers for JSON output, to omit digits that are only noise.
#pragma once

#include <cmath>

namespace hat {

// Returns `value` with at most `digits` digits after the decimal point.
inline double rounded(double value, int digits) {
  const double scale = std::pow(10, digits);
  return std::round(value * scale) / scale;
}

}  // namespace hat
