// SPDX-License-Identifier: Apache-2.0
#include "config/duration_buckets.h"

#include <bit>
#include <optional>

#include "config/yaml.h"

namespace hat {
namespace {

// Reads one bound; returns its number.
std::optional<size_t> read_bound(const YamlValue& value, std::string_view what) {
  const auto read =
      read_duration(value, what, duration_bound(0), duration_bound(kDurationBounds - 1));
  if (!read) return std::nullopt;
  const auto whole = std::chrono::duration_cast<std::chrono::microseconds>(*read);
  const size_t below =
      static_cast<size_t>(std::bit_width(static_cast<uint64_t>(whole.count()))) - 1;
  if (*read == duration_bound(below)) return below;
  value.error(std::string(what) + ": no bucket ends at " + duration_text(*read) + "; write " +
              duration_text(duration_bound(below)) + " or " +
              duration_text(duration_bound(below + 1)));
  return std::nullopt;
}

}  // namespace

DurationBuckets read_duration_buckets(const YamlValue& value, std::string_view what) {
  DurationBuckets buckets;
  std::optional<size_t> last;
  bool is_correct = true;
  read_items(value, what, [&](const YamlValue& item) {
    const std::optional<size_t> bound = read_bound(item, what);
    is_correct &= bound.has_value();
    if (!bound) return;
    if (last && *bound <= *last) {
      item.error(std::string(what) + ": " + duration_text(duration_bound(*bound)) + " follows " +
                 duration_text(duration_bound(*last)) +
                 "; list each bound once, in ascending order");
      is_correct = false;
    }
    last = bound;
    buckets.set(*bound);
  });
  if (value.node.IsSequence() && value.node.size() == 0) {
    value.error(std::string(what) +
                ": the list is empty; list at least one bound, or remove the key to have all");
  }
  return is_correct && buckets.any() ? buckets : all_duration_buckets();
}

std::string duration_buckets_text(const DurationBuckets& buckets) {
  if (buckets.all()) return "all";
  std::string text;
  for (size_t i = 0; i < kDurationBounds; ++i) {
    if (buckets[i]) text += (text.empty() ? "" : ", ") + duration_text(duration_bound(i));
  }
  return "[" + text + "]";
}

}  // namespace hat
