// SPDX-License-Identifier: Apache-2.0
// daemon/admin/exposition.h: writes all metrics of the daemon in Prometheus' text format 0.0.4.
//
// The first call of a function on one side (client or server) creates all series of that function
// and side. Functions that no manifest names share `_other`. docs/reference.md lists the metrics.
//
// Thread   The main thread; the workers continue to count meanwhile.
#pragma once

#include <string>

#include "daemon/admin/control.h"

namespace hat {

// The admin server's counts of its own connections, on both of its addresses.
struct AdminTotals {
  uint64_t connections_open = 0;
  uint64_t connections_closed = 0;  // because they were the oldest of too many
};

std::string exposition(Control& control, const AdminTotals& admin);

}  // namespace hat
