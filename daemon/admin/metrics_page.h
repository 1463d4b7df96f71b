// SPDX-License-Identifier: Apache-2.0
// daemon/admin/metrics_page.h: writes all metrics of the daemon in Prometheus' text format 0.0.4.
//
// The first call of a function on one side (client or server) creates all series of that function
// and side. Functions that no manifest names share the series of `_other`. docs/reference.md lists
// the metrics.
//
// Thread   Only the main thread calls metrics_page(); workers count at the same time. They wait for
//          nothing: the page reads their counters without a lock. The exceptions are a worker that
//          counts an event of a peer (PeerEvents), such as a new link, and may wait until the page
//          has copied these counts; and Control::links(), which each worker answers once for each
//          page, between two events.
#pragma once

#include <string>

#include "daemon/admin/control.h"
#include "daemon/admin/metric_families.h"

namespace hat {

// The counts of the admin server, over both of its addresses.
struct AdminTotals {
  uint64_t connections_open = 0;
  uint64_t connections_closed = 0;  // closed because there were too many
  double page_seconds = 0;          // time that the last metrics page took; 0: there was none
};

// Returns the page. `page` holds the series of the page before, or none.
std::string metrics_page(Control& control, const AdminTotals& admin, MetricFamilies& page);

}  // namespace hat
