// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/workload.h: the settings of a YCSB workload file that hatkv-ycsb supports.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/ycsb/properties.h"

namespace hat::ycsb {

// The operations. The comments name the functions of HatKV that an operation calls.
enum class Operation : uint8_t {
  kRead,         // get
  kUpdate,       // put; if writeallfields=false, a get before it
  kMultiRead,    // multiget
  kMultiUpdate,  // multiput; if writeallfields=false, a multiget before it
  kInsert,       // put; only while loading
};
constexpr size_t kOperations = 5;
constexpr size_t kDrawnOperations = 4;  // number of operations that a run makes: all except kInsert
const char* operation_name(Operation operation);

enum class Distribution : uint8_t { kUniform, kZipfian, kLatest };

// The settings of a workload. The comments name YCSB's keys. The defaults are those of CoreWorkload
// (YCSB 0.17.0); the defaults of the batches are from HatRPC (SC'21, 5.4).
struct Workload {
  uint64_t records = 0;       // recordcount
  uint64_t insert_start = 0;  // insertstart
  uint64_t insert_count = 0;  // insertcount
  uint64_t operations = 0;    // operationcount; 0: no limit
  double seconds = 0;         // maxexecutiontime; 0: no limit
  uint32_t threads = 1;       // threadcount
  std::array<double, kDrawnOperations> weights = {0.95, 0.05, 0, 0};  // indexed by Operation
  Distribution distribution = Distribution::kUniform;
  uint64_t multi_read_batch = 10;
  uint64_t multi_update_batch = 10;
  uint64_t fields = 10;        // per record
  uint64_t field_bytes = 100;  // per field
  std::string field_prefix = "field";
  bool write_all_fields = false;
  bool data_integrity = false;  // values follow from the keys, and reads check the values
  bool hashed_keys = true;      // insertorder
  uint64_t zero_padding = 1;    // minimum number of digits of a key
};

// Reads a workload. An error names the key, its source location, the value that was found and the
// expected value. Returns an error for features of YCSB that hatkv-ycsb does not have: inserts and
// scans in a run, and other distributions.
Result<Workload> read_workload(const Properties& properties);

// Returns the keys that neither YCSB's core nor hatkv-ycsb knows, because these keys can be
// misspelt. YCSB itself does not report such keys.
std::vector<std::string> unknown_keys(const Properties& properties);

}  // namespace hat::ycsb
