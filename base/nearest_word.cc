// SPDX-License-Identifier: Apache-2.0
#include "base/nearest_word.h"

#include <algorithm>
#include <numeric>

#include "base/lower_case.h"

namespace hat {
namespace {

// Returns the edit distance of `a` and `b`: how many letters must be inserted, deleted or changed
// to make `b` from `a`. A swap of two adjacent letters counts as one change. Upper case and lower
// case count as equal.
size_t distance(std::string_view a, std::string_view b) {
  const auto same = [&](size_t i, size_t j) { return lower_case(a[i]) == lower_case(b[j]); };
  std::vector<std::vector<size_t>> table(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i) table[i][0] = i;
  std::iota(table[0].begin(), table[0].end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = table[i - 1][j - 1] + (same(i - 1, j - 1) ? 0 : 1);
      table[i][j] = std::min({table[i - 1][j] + 1, table[i][j - 1] + 1, change});
      if (i > 1 && j > 1 && same(i - 1, j - 2) && same(i - 2, j - 1)) {
        table[i][j] = std::min(table[i][j], table[i - 2][j - 2] + 1);
      }
    }
  }
  return table[a.size()][b.size()];
}

constexpr size_t kWordBytesMax = 64;  // a longer word is not a misspelling of a known one

}  // namespace

std::string_view nearest_word(std::string_view found, const std::vector<std::string_view>& known) {
  if (found.empty() || found.size() > kWordBytesMax) return {};
  std::string_view nearest;
  // One more than the largest allowed distance: a third of the letters of `found`, at least one.
  size_t nearest_distance = std::max<size_t>(1, found.size() / 3) + 1;
  for (const std::string_view word : known) {
    const size_t d = distance(found, word);
    if (d >= nearest_distance) continue;
    nearest = word;
    nearest_distance = d;
  }
  return nearest;
}

std::string did_you_mean(std::string_view found, const std::vector<std::string_view>& known) {
  const std::string_view nearest = nearest_word(found, known);
  return nearest.empty() ? "" : " (did you mean '" + std::string(nearest) + "'?)";
}

}  // namespace hat
