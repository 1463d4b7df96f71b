// SPDX-License-Identifier: Apache-2.0
#include "bench/daemons/workload.h"

#include <algorithm>

#include "base/check.h"

namespace hat::bench {
namespace {

using model::Time;
using std::chrono::nanoseconds;

Workload echo(const WorkloadSizes& sizes, const model::Hardware&) {
  return {"Echo", {{"echo", 1000, sizes.bytes, sizes.bytes, {}, {}}}};
}

// Client and server compute the checksum of both payloads of a call.
Workload atb(const WorkloadSizes& sizes, const model::Hardware& hardware) {
  const Time checksum = model::time_for(2 * sizes.bytes, hardware.summed_per_ns);
  const uint32_t latency = 10 * sizes.latency_percent;
  Workload found{"Atb", {}};
  for (const auto& [name, per_mille] :
       {std::pair("latency", latency), std::pair("throughput", 1000 - latency)}) {
    found.functions.push_back({name, per_mille, sizes.bytes, sizes.bytes, checksum, checksum});
  }
  return found;
}

// The records of YCSB: keys of 24 bytes, values of 1000 bytes, batches of 10. The sizes of batches
// have the bytes that Thrift adds to each record (kv/hatkv.thrift). The times of the store are
// assumed: a record that is found, a record that is written, and the commit of a write. Writers do
// not wait for each other, as they would for the lock of LMDB.
Workload ycsb(uint32_t reads, uint32_t writes) {
  constexpr size_t kKey = 24;
  constexpr size_t kValue = 1000;
  constexpr size_t kBatch = 10;
  constexpr size_t kField = 7;  // type and number of a field, and a length
  constexpr size_t kPair = kKey + kValue + 2 * kField + 1;
  constexpr size_t kLookup = kValue + kField + 5;
  constexpr Time kRead = nanoseconds(1000);
  constexpr Time kWrite = nanoseconds(2000);
  constexpr Time kCommit = nanoseconds(5000);
  return {"HatKV",
          {{"get", reads, kKey, kValue, kRead, {}},
           {"put", writes, kKey + kField + kValue, 0, kWrite + kCommit, {}},
           {"multiget", reads, kBatch * (kKey + 4), kBatch * kLookup, kBatch * kRead, {}},
           {"multiput", writes, kBatch * kPair, 0, kBatch * kWrite + kCommit, {}}}};
}
Workload ycsb_a(const WorkloadSizes&, const model::Hardware&) { return ycsb(250, 250); }
Workload ycsb_b(const WorkloadSizes&, const model::Hardware&) { return ycsb(475, 25); }

struct Named {
  std::string_view name;
  Workload (*make)(const WorkloadSizes&, const model::Hardware&);
};
constexpr Named kWorkloads[] = {
    {"echo", echo}, {"atb", atb}, {"ycsb-a", ycsb_a}, {"ycsb-b", ycsb_b}};

}  // namespace

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  for (const Named& workload : kWorkloads) names.emplace_back(workload.name);
  return names;
}

Workload make_workload(std::string_view name, const WorkloadSizes& sizes,
                       const model::Hardware& hardware) {
  const auto* found = std::ranges::find(kWorkloads, name, &Named::name);
  CHECK(found != std::end(kWorkloads)) << "no workload has the name " << name;
  Workload workload = found->make(sizes, hardware);
  uint32_t sum = 0;
  for (const ModelFunction& function : workload.functions) sum += function.per_mille;
  CHECK(sum == 1000) << "of the calls of " << name;
  return workload;
}

}  // namespace hat::bench
