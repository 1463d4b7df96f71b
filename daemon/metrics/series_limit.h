// SPDX-License-Identifier: Apache-2.0
// daemon/metrics/series_limit.h: which functions have series of their own on the metrics page.
//
// A limit (`admin.max_functions`) keeps the number of series bounded: the functions that are called
// first have series of their own, and all others are summed for each service. The first answer
// about a function is final, even if the limit changes later. So a function never moves between its
// own series and a sum, and no counter on the page decreases.
//
// Bounds   One entry for each function of the manifests that was called, and each group.
// Thread   Only the main thread uses this class.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <unordered_map>

namespace hat {

class FunctionMetrics;

// The series of a function. The limit applies to each group separately.
enum class SeriesGroup : uint8_t {
  kClient,   // those of calls of local clients
  kServer,   // those of calls to local servers
  kDenials,  // those of calls that an `allow` rule denies
};
inline constexpr std::array<const char*, 3> kSeriesGroupNames = {"client", "server", "denials"};

// The label thrift_method of the series into which functions are summed.
inline constexpr std::string_view kSummedMethod = "_more";

class SeriesLimit {
 public:
  // Returns true if `function`, whose name is `method`, has series of its own in `group`, and false
  // if it is summed. The first call for a function decides: it has series of its own if fewer than
  // `most` functions have. A function with the name kSummedMethod is always summed, because its
  // series would have the labels of a sum.
  bool has_own(const FunctionMetrics& function, std::string_view method, SeriesGroup group,
               size_t most) {
    Group& in = groups_[static_cast<size_t>(group)];
    const bool fits = in.owners < most && method != kSummedMethod;
    const auto [entry, is_new] = in.has_own.try_emplace(&function, fits);
    if (is_new && method != kSummedMethod) ++(entry->second ? in.owners : in.summed);
    return entry->second;
  }
  // Returns the number of functions that are summed in `group` because of the limit.
  size_t summed(SeriesGroup group) const { return groups_[static_cast<size_t>(group)].summed; }

 private:
  struct Group {
    std::unordered_map<const FunctionMetrics*, bool> has_own;
    size_t owners = 0;
    size_t summed = 0;
  };
  std::array<Group, kSeriesGroupNames.size()> groups_;
};

}  // namespace hat
