// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/opaque_failure.h"

#include <glog/logging.h>

namespace hat {

void note_opaque_failure(WorkerCounters& counters, Side side, std::string_view what,
                         engine::Failure failure, std::string_view detail) {
  counters.opaque_failures[static_cast<size_t>(side)][static_cast<size_t>(failure)].add();
  LOG_EVERY_T(WARNING, 1) << what << ": a connection carried byte for byte failed: "
                          << engine::text(failure).token << ": " << detail;
}

}  // namespace hat
