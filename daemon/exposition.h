// daemon/exposition.h: everything that the daemon counts, in Prometheus' text format 0.0.4.
//
// Every function that a manifest names has its series from the start, at zero; functions that none
// names share `_other`. docs/reference.md lists the metrics.
//
// Thread   the main thread's; the workers go on counting meanwhile.
#pragma once

#include <string>

#include "daemon/control.h"

namespace hat {

std::string exposition(Control& control);

}  // namespace hat
