// SPDX-License-Identifier: Apache-2.0
// kv/cli/stats.h: formats a server's answer to `hatkv stats`.
#pragma once

#include <string>

#include "HatKV.h"

namespace hat {

// Returns a line for each figure; sizes also have a rounded text with a unit.
std::string stats_text(const hatkv::Stats& stats);

// Returns one JSON object on one line. The keys are the names of the fields in kv/hatkv.thrift.
std::string stats_json(const hatkv::Stats& stats);

}  // namespace hat
