// SPDX-License-Identifier: Apache-2.0
// daemon/admin/function_series.h: the series of functions on the metrics page. Almost all series of
// a page are of this kind, so their number is limited (daemon/metrics/series_limit.h).
//
// Only the main thread calls these functions.
#pragma once

#include <array>

#include "daemon/admin/control.h"
#include "daemon/admin/metric_families.h"

namespace hat {

inline constexpr std::array kSides = {Side::kClient, Side::kServer};
// The values of the label `side`, by Side.
inline constexpr std::array kSideNames = {"client", "server"};

// Adds the series of all functions that have been called, and the number of functions that are
// summed. With more than admin.max_functions functions on one side, the series of those that were
// called last are the sums of their services.
void add_function_series(MetricFamilies& page, Control& control);

}  // namespace hat
