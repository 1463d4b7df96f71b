// SPDX-License-Identifier: Apache-2.0
// hatctl/calibrate.h: the parts of `hatctl calibrate` that start a calibration in hatrpcd, wait for
// its end, and write the profile to a file.
#pragma once

#include <string>

#include "base/result.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {

// The end of a calibration.
struct Calibrated {
  std::string body;  // the last answer of GET /calibration; if refused, that of POST /calibrate
  Result<void> end;  // the error says why hatrpcd refused the calibration, or why it failed
};
// Starts a calibration with `peer` and waits until it has ended. Returns an error if hatrpcd cannot
// be reached.
Result<Calibrated> calibrate(const HttpClient& client, const std::string& peer);

// Writes `text` to the file `path`, completely or not at all: a daemon may be watching the file.
// Writes to PATH.new first and renames that file to `path`.
Result<void> write_whole(const std::string& path, const std::string& text);

}  // namespace hat::hatctl
