// SPDX-License-Identifier: Apache-2.0
// daemon/admin/exposition.h: everything that the daemon counts, in Prometheus' text format 0.0.4.
//
// A function's series of one side appear with its first call on that side, all of them at once;
// functions that no manifest names share `_other`. docs/reference.md lists the metrics.
//
// Thread   the main thread's; the workers go on counting meanwhile.
#pragma once

#include <string>

#include "daemon/admin/control.h"

namespace hat {

std::string exposition(Control& control);

}  // namespace hat
