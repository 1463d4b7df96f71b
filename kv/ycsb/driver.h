// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/driver.h: loads the records of a YCSB workload, or runs the workload, with many client
// threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/result.h"
#include "base/time_histogram.h"
#include "bench/account.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Measured {
  TimeHistogram latencies;  // times of the successful operations that bench/account.h counts
  uint64_t failed = 0;      // operations that failed after the warm-up
};

struct Results {
  double seconds = 0;                            // how long the measurement took
  bench::Account account;                        // the successful operations of all clients
  std::array<Measured, kOperations> operations;  // indexed by Operation
  std::optional<Error> first_failure;

  uint64_t done() const;
  uint64_t failed() const;
};

// Inserts insert_count records, from the number insert_start on. The threads share the work.
Result<Results> load(const Workload& workload, const Address& address, uint64_t seed);

// Runs the workload. Each thread has one connection, and makes one operation at a time. The run
// ends after workload.operations operations or after workload.seconds, whichever is first; at least
// one of these limits must be set. The first `warm_up_seconds` are not measured; bench/account.h
// describes which operations count after the warm-up. Returns after the last operation has ended.
Result<Results> run(const Workload& workload, const Address& address, uint64_t seed,
                    double warm_up_seconds);

// load() and run() return an error if a thread cannot connect at the start. Later failures are
// counted. After 20 failures in a row, a thread gives up and skips the rest of its operations.

}  // namespace hat::ycsb
