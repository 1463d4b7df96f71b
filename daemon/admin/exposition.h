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

std::string exposition(Control& control);

}  // namespace hat
