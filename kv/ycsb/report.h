// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/report.h: a run's results as YCSB prints them, or as JSON.
#pragma once

#include <string>

#include "kv/ycsb/driver.h"

namespace hat::ycsb {

// YCSB's lines: `[READ], 95thPercentileLatency(us), 123`, an operation's only where it was made;
// and of the clients those with the fewest and the most operations.
std::string as_text(const Results& results);

// One object: seconds, calls_per_s, operations, failed, those of bench::Account::json_fields(); and
// by operation (read, update, multiread, multiupdate, insert) an object of operations, failed,
// avg_us, min_us, max_us, p50_us, p95_us, p99_us.
std::string as_json(const Results& results, uint32_t threads);

}  // namespace hat::ycsb
