// SPDX-License-Identifier: Apache-2.0
#include "engine/costs/cost_curve.h"

#include <algorithm>
#include <cstdio>

namespace hat::engine {
namespace {

std::string number(double ns) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", ns);
  return text;
}

std::string list(std::span<const SizedCost> costs) {
  std::string text = "[";
  for (const SizedCost& cost : costs) {
    if (text.size() > 1) text += ", ";
    text += "{\"bytes\": " + std::to_string(cost.bytes) + ", \"ns\": " + number(cost.ns) + "}";
  }
  return text + "]";
}

}  // namespace

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

std::string to_json(const ComponentCosts& costs) {
  std::string text = "{\"fabric\": \"" + costs.fabric + "\"";
  const auto add = [&](const char* name, const std::string& value) {
    text += std::string(", \"") + name + "\": " + value;
  };
  add("put", list(costs.put));
  add("get", list(costs.get));
  add("compare_swap_ns", number(costs.compare_swap_ns));
  add("fetch_add_ns", number(costs.fetch_add_ns));
  add("message", list(costs.message));
  add("wake_up_ns", number(costs.wake_up_ns));
  add("registration", list(costs.registration));
  add("copy", list(costs.copy));
  return text + "}";
}

}  // namespace hat::engine
