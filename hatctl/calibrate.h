// SPDX-License-Identifier: Apache-2.0
// hatctl/calibrate.h: starts a calibration (a measurement of RDMA costs) in hatrpcd, and waits for
// its end.
#pragma once

#include <string>

#include "base/result.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {

// The result of a calibration.
struct Calibrated {
  // The body of the last answer to GET /calibration. If hatrpcd refused the calibration: the body
  // of the answer to POST /calibrate.
  std::string body;
  Result<void> end;  // the error says why hatrpcd refused the calibration, or why it failed
};
// Starts a calibration with the daemon `peer` and waits for the end of the calibration. Returns an
// error if hatrpcd cannot be reached.
Result<Calibrated> calibrate(const HttpClient& client, const std::string& peer);

}  // namespace hat::hatctl
