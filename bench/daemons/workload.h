// SPDX-License-Identifier: Apache-2.0
// bench/daemons/workload.h: what modelled clients call, and what the server does for a call.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "bench/model/hardware.h"

namespace hat::bench {

struct ModelFunction {
  std::string name;
  uint32_t per_mille = 0;  // of the calls
  size_t request_bytes = 0;
  size_t reply_bytes = 0;
  model::Time work{};   // processor time of the server for a call
  model::Time check{};  // processor time of the client to check a reply
};

struct Workload {
  std::string service;
  std::vector<ModelFunction> functions;
};

// The sizes of calls that the workload itself does not decide.
struct WorkloadSizes {
  size_t bytes = 64;              // payloads of requests and replies; of echo and atb
  uint32_t latency_percent = 50;  // calls of the function `latency`; of atb
};

// Returns the names of the workloads.
std::vector<std::string> workload_names();

// Returns a workload, of those that workload_names() has:
//
//   echo             one function, which returns its argument
//   atb              bench/atb: the functions latency and throughput, with all checksums
//   ycsb-a, ycsb-b   HatKV with YCSB's workloads (HatRPC, SC'21, 5.4)
Workload make_workload(std::string_view name, const WorkloadSizes& sizes,
                       const model::Hardware& hardware);

}  // namespace hat::bench
