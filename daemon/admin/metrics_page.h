// SPDX-License-Identifier: Apache-2.0
// daemon/admin/metrics_page.h: writes all metrics of the daemon in Prometheus' text format 0.0.4.
//
// The first call of a function on one side (client or server) creates all series of that function
// and side. Functions that no manifest names share the series of `_other`. docs/reference.md lists
// the metrics.
//
// Thread   Only the main thread calls metrics_page(); workers count at the same time.
#pragma once

#include <string>

#include "daemon/admin/control.h"

namespace hat {

// The number of connections to the admin server, over both of its addresses.
struct AdminTotals {
  uint64_t connections_open = 0;
  uint64_t connections_closed = 0;  // closed because there were too many
};

std::string metrics_page(Control& control, const AdminTotals& admin);

}  // namespace hat
