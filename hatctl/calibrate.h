// SPDX-License-Identifier: Apache-2.0
// hatctl/calibrate.h: the parts of `hatctl calibrate` that start a calibration (a measurement of
// RDMA costs) in hatrpcd, wait for its end, and write the result (a profile) to a file.
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

// Writes `text` to the file `path`, completely or not at all, because a daemon may be watching the
// file. To do so, writes the text to PATH.new and renames that file to `path`.
Result<void> write_whole(const std::string& path, const std::string& text);

}  // namespace hat::hatctl
