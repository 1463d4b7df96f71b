// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/driver.h: loads the records or runs the workload with many concurrent client threads.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "base/address.h"
#include "base/result.h"
#include "bench/account.h"
#include "bench/time_histogram.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Measured {
  TimeHistogram latencies;  // of the operations whose time counts
  uint64_t failed = 0;
};

struct Results {
  double seconds = 0;      // measured time
  bench::Account account;  // of all clients: successful operations of any kind
  std::array<Measured, kOperations> operations;  // by Operation
  std::optional<Error> first_failure;

  uint64_t done() const;
  uint64_t failed() const;
};

// Inserts the records insert_start … insert_start + insert_count - 1, divided among the threads.
Result<Results> load(const Workload& workload, const Address& address, uint64_t seed);

// Makes operations in a closed loop: each thread has one connection and one operation at a time.
// The run ends after workload.operations operations or after workload.seconds, whichever is first;
// one of the two must be set. The first `warm_up_seconds` are not measured; bench/account.h says
// which operations count after that. run() waits for operations that are in progress at the end.
Result<Results> run(const Workload& workload, const Address& address, uint64_t seed,
                    double warm_up_seconds);

// load() and run() fail if a thread cannot connect at the start. Later failures are counted. A
// thread gives up after 20 failures in a row and does not make its other operations.

}  // namespace hat::ycsb
