// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/cost_curve.h"

#include <algorithm>

namespace hat::engine {

double cost_of(std::span<const SizedCost> costs, uint32_t bytes) {
  if (costs.empty()) return 0;
  if (costs.size() == 1 || bytes <= costs.front().bytes) return costs.front().ns;
  const auto above =
      std::ranges::find_if(costs, [&](const SizedCost& cost) { return cost.bytes >= bytes; });
  const size_t to = above == costs.end() ? costs.size() - 1 : size_t(above - costs.begin());
  const SizedCost& low = costs[to - 1];
  const SizedCost& high = costs[to];
  const double slope = (high.ns - low.ns) / (double(high.bytes) - double(low.bytes));
  return std::max(0.0, low.ns + slope * (double(bytes) - double(low.bytes)));
}

}  // namespace hat::engine
