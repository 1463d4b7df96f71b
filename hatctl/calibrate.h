// SPDX-License-Identifier: Apache-2.0
// hatctl/calibrate.h: the command `hatctl calibrate`: has hatrpcd measure, waits, shows,
// writes.
#pragma once

#include <string>

#include "base/result.h"
#include "hatctl/http_client.h"

namespace hat::hatctl {

// Error: hatrpcd cannot be reached. Else what GET /calibration says once the calibration has ended;
// where it was refused or has failed, `refused` says why.
struct Calibrated {
  std::string body;
  std::string refused;
};
Result<Calibrated> calibrate(const HttpClient& client, const std::string& peer);

// Whole or not at all: a daemon may be watching the file.
Result<void> write_whole(const std::string& path, const std::string& text);

}  // namespace hat::hatctl
