// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/workload.h: what a YCSB workload file asks for, of what this driver can do.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/result.h"
#include "kv/ycsb/properties.h"

namespace hat::ycsb {

// The names under which YCSB reports them are in operation_name().
enum class Operation : uint8_t {
  kRead,         // get
  kUpdate,       // put; with writeallfields=false, a get before it
  kMultiRead,    // multiget
  kMultiUpdate,  // multiput; with writeallfields=false, a multiget before it
  kInsert,       // put, while loading
};
constexpr size_t kOperations = 5;
constexpr size_t kDrawnOperations = 4;  // those that a run draws: all but kInsert
const char* operation_name(Operation operation);

enum class Distribution : uint8_t { kUniform, kZipfian, kLatest };

// The defaults are CoreWorkload's (YCSB 0.17.0); the batches' are HatRPC's (SC'21, 5.4).
struct Workload {
  uint64_t records = 0;                                               // recordcount
  uint64_t insert_start = 0;                                          // insertstart
  uint64_t insert_count = 0;                                          // insertcount
  uint64_t operations = 0;                                            // operationcount; 0: no end
  double seconds = 0;                                                 // maxexecutiontime; 0: no end
  uint32_t threads = 1;                                               // threadcount
  std::array<double, kDrawnOperations> weights = {0.95, 0.05, 0, 0};  // by Operation
  Distribution distribution = Distribution::kUniform;
  uint64_t multi_read_batch = 10;
  uint64_t multi_update_batch = 10;
  uint64_t fields = 10;        // of a record
  uint64_t field_bytes = 100;  // of a field
  std::string field_prefix = "field";
  bool write_all_fields = false;
  bool data_integrity = false;  // values follow from their keys, and reads check them
  bool hashed_keys = true;      // insertorder
  uint64_t zero_padding = 1;    // digits of a key, at least
};

// Errors name the key, where it was said, what was found and what was expected. What YCSB itself
// can do and this driver cannot (inserts and scans in a run, other distributions) is refused.
Result<Workload> read_workload(const Properties& properties);

// Keys that neither YCSB's core nor this driver knows: mistakes, perhaps; YCSB says nothing of
// them.
std::vector<std::string> unknown_keys(const Properties& properties);

}  // namespace hat::ycsb
