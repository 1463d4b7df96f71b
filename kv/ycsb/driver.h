// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/driver.h: loads the records, or runs the workload, with many client threads at once.
#pragma once

#include <array>
#include <cstdint>
#include <string>

#include "base/address.h"
#include "base/result.h"
#include "bench/account.h"
#include "kv/ycsb/latencies.h"
#include "kv/ycsb/workload.h"

namespace hat::ycsb {

struct Measured {
  Latencies latencies;  // of those of them whose time counts
  uint64_t failed = 0;
};

struct Results {
  double seconds = 0;      // that were measured
  bench::Account account;  // of all clients: operations that did what they should, of any kind
  std::array<Measured, kOperations> operations;  // by Operation
  std::string first_failure;                     // empty where nothing failed

  uint64_t done() const;
  uint64_t failed() const;
};

// Inserts records insert_start … insert_start + insert_count - 1, split among the threads.
Result<Results> load(const Workload& workload, const Address& address, uint64_t seed);

// Makes operations in a closed loop: each thread has one connection and one operation at a time,
// until workload.operations are made or workload.seconds have passed, whichever is first; one of
// the two must be given. The first `warm_up_seconds` are not measured; bench/account.h says which
// operations count after that. An operation that is not done when the time is over is waited for.
Result<Results> run(const Workload& workload, const Address& address, uint64_t seed,
                    double warm_up_seconds);

// Both fail where a thread cannot connect before anything begins. Later failures are counted; a
// thread that can no longer connect gives up, and its other operations are not made.

}  // namespace hat::ycsb
