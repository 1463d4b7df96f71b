// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/report.h: formats a run's results as YCSB's text or as JSON.
#pragma once

#include <string>

#include "kv/ycsb/driver.h"

namespace hat::ycsb {

// Returns the results as lines of YCSB's format, such as `[READ], 95thPercentileLatency(us), 123`.
// An operation has lines only if it was made. The [CLIENT] lines have the number of operations of
// the client that made the fewest, the number of the client that made the most, and the number of
// operations that were in flight at the end.
std::string as_text(const Results& results);

// Returns one object with seconds, calls_per_s, operations, failed and the fields of
// bench::account_json(). For each operation that was made (read, update, multiread,
// multiupdate, insert) it has an object with operations, failed, avg_us, min_us, max_us, p50_us,
// p95_us, p99_us.
std::string as_json(const Results& results, uint32_t threads);

}  // namespace hat::ycsb
