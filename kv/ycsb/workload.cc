// SPDX-License-Identifier: Apache-2.0
#include "kv/ycsb/workload.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <string_view>

#include "base/number.h"

namespace hat::ycsb {
namespace {

constexpr uint64_t kRecordsMax = INT32_MAX;  // YCSB truncates record numbers to an int
constexpr uint64_t kRecordBytesMax = 16u << 20;
constexpr uint64_t kBatchMax = 10'000;
constexpr std::string_view kUseJava =
    "; use YCSB itself with the binding in kv/ycsb/java for other values";

constexpr std::string_view kCoreWorkload = "site.ycsb.workloads.CoreWorkload";
constexpr std::string_view kMultiWorkload = "site.ycsb.workloads.MultiWorkload";

// Keys of YCSB that have no effect in hatkv-ycsb: keys for YCSB's output, and keys that only scans
// or inserts use.
constexpr std::string_view kWithoutEffect[] = {"table",
                                               "db",
                                               "target",
                                               "status",
                                               "status.interval",
                                               "label",
                                               "exporter",
                                               "exportfile",
                                               "dotransactions",
                                               "measurementtype",
                                               "hdrhistogram.percentiles",
                                               "hdrhistogram.fileoutput",
                                               "hdrhistogram.output.path",
                                               "histogram.buckets",
                                               "timeseries.granularity",
                                               "measurement.interval",
                                               "measurement.trackjvm",
                                               "measurement.histogram.verbose",
                                               "measurement.raw.output_file",
                                               "reportlatencyforeacherror",
                                               "latencytrackederrors",
                                               "readallfields",
                                               "minscanlength",
                                               "maxscanlength",
                                               "scanlengthdistribution",
                                               "maxscanrate",
                                               "scanoptimelimit",
                                               "discardscannedrecord",
                                               "minfieldlength",
                                               "fieldlengthhistogram",
                                               "hotspotdatafraction",
                                               "hotspotopnfraction",
                                               "columnfamily",
                                               "core_workload_insertion_retry_limit",
                                               "core_workload_insertion_retry_interval"};

std::unexpected<Error> wrong(const std::string& key, const Properties::Value& found,
                             std::string_view expected) {
  return fail(ErrorCode::kInvalid, found.where + ": " + key + ": found '" + found.text +
                                       "', expected " + std::string(expected));
}

// Reads a number from `least` to `most` into `into`. If the key is not set, leaves `into`
// unchanged, as the other functions read_…() do.
Result<void> read_number(const Properties& properties, const std::string& key, uint64_t least,
                         uint64_t most, uint64_t& into) {
  const Properties::Value* found = properties.find(key);
  if (found == nullptr) return {};
  const auto number = parse_number<uint64_t>(found->text);
  if (!number || *number < least || *number > most) {
    return wrong(key, *found,
                 "a number from " + std::to_string(least) + " to " + std::to_string(most));
  }
  into = *number;
  return {};
}

Result<void> read_weight(const Properties& properties, const std::string& key, double& into) {
  const Properties::Value* found = properties.find(key);
  if (found == nullptr) return {};
  const auto number = parse_number<double>(found->text);
  if (!number || !std::isfinite(*number) || *number < 0) {
    return wrong(key, *found, "a proportion of 0 or more, such as 0.25");
  }
  into = *number;
  return {};
}

// Reads a boolean as Java's parseBoolean() does, but rejects words other than true and false.
Result<void> read_switch(const Properties& properties, const std::string& key, bool& into) {
  const Properties::Value* found = properties.find(key);
  if (found == nullptr) return {};
  if (found->text != "true" && found->text != "false") return wrong(key, *found, "true or false");
  into = found->text == "true";
  return {};
}

struct NumberRow {
  const char* key;
  uint64_t Workload::*into;
  uint64_t least, most;
};
constexpr NumberRow kNumbers[] = {
    {"recordcount", &Workload::records, 1, kRecordsMax},
    {"insertstart", &Workload::insert_start, 0, kRecordsMax},
    {"insertcount", &Workload::insert_count, 1, kRecordsMax},
    {"operationcount", &Workload::operations, 0, INT64_MAX},
    {"multireadbatch", &Workload::multi_read_batch, 1, kBatchMax},
    {"multiupdatebatch", &Workload::multi_update_batch, 1, kBatchMax},
    {"fieldcount", &Workload::fields, 1, 10'000},
    {"fieldlength", &Workload::field_bytes, 1, kRecordBytesMax},
    {"zeropadding", &Workload::zero_padding, 0, 500},
};

struct SwitchRow {
  const char* key;
  bool Workload::*into;
};
constexpr SwitchRow kSwitches[] = {
    {"writeallfields", &Workload::write_all_fields},
    {"dataintegrity", &Workload::data_integrity},
};

struct WeightRow {
  const char* key;
  Operation operation;
};
constexpr WeightRow kWeights[] = {
    {"readproportion", Operation::kRead},
    {"updateproportion", Operation::kUpdate},
    {"multireadproportion", Operation::kMultiRead},
    {"multiupdateproportion", Operation::kMultiUpdate},
};
constexpr const char* kRefusedWeights[] = {"insertproportion", "scanproportion",
                                           "readmodifywriteproportion"};

// A key whose value must be one of several words. The meaning of a word is its index in `words`.
struct WordRow {
  const char* key;
  std::span<const std::string_view> words;
  std::string_view expected;
};
constexpr std::string_view kDistributions[] = {"uniform", "zipfian", "latest"};
constexpr std::string_view kInsertOrders[] = {"ordered", "hashed"};
constexpr std::string_view kLengths[] = {"constant"};
constexpr std::string_view kWorkloads[] = {kCoreWorkload, kMultiWorkload};

constexpr WordRow kDistributionRow = {"requestdistribution", kDistributions,
                                      "uniform, zipfian or latest"};
constexpr WordRow kInsertOrderRow = {"insertorder", kInsertOrders, "hashed or ordered"};
constexpr WordRow kLengthRow = {"fieldlengthdistribution", kLengths, "constant"};
constexpr WordRow kWorkloadRow = {
    "workload", kWorkloads,
    "site.ycsb.workloads.CoreWorkload or site.ycsb.workloads.MultiWorkload"};

Result<size_t> read_choice(const Properties& properties, const WordRow& row, size_t otherwise) {
  const Properties::Value* found = properties.find(row.key);
  if (found == nullptr) return otherwise;
  const auto at = std::ranges::find(row.words, found->text);
  if (at == row.words.end()) {
    return wrong(row.key, *found, std::string(row.expected) + std::string(kUseJava));
  }
  return static_cast<size_t>(at - row.words.begin());
}

Result<void> read_weights(const Properties& properties, bool multi, Workload& workload) {
  for (const WeightRow& row : kWeights) {
    HAT_TRY_VOID(
        read_weight(properties, row.key, workload.weights[static_cast<size_t>(row.operation)]));
  }
  for (const char* key : kRefusedWeights) {
    double weight = 0;
    HAT_TRY_VOID(read_weight(properties, key, weight));
    if (weight > 0) return wrong(key, *properties.find(key), "0" + std::string(kUseJava));
  }
  for (const WeightRow& row : kWeights) {
    const bool is_multi = row.operation >= Operation::kMultiRead;
    if (!multi && is_multi && workload.weights[static_cast<size_t>(row.operation)] > 0) {
      return wrong(row.key, *properties.find(row.key),
                   "0 unless workload=" + std::string(kMultiWorkload) + " is set");
    }
  }
  if (std::ranges::all_of(workload.weights, [](double weight) { return weight == 0; })) {
    return fail(ErrorCode::kInvalid, "all proportions are 0, so the workload has no operations");
  }
  return {};
}

// Sets the default of insertcount, and checks the limits that depend on several keys.
Result<void> check_sizes(const Properties& properties, Workload& workload) {
  if (workload.records == 0)
    return fail(ErrorCode::kInvalid, "recordcount is missing: set the number of records");
  if (properties.find("insertcount") == nullptr && workload.insert_start < workload.records) {
    workload.insert_count = workload.records - workload.insert_start;
  }
  if (workload.insert_start + workload.insert_count > workload.records ||
      workload.insert_count == 0) {
    return fail(
        ErrorCode::kInvalid,
        "insertstart and insertcount must give at least one record within recordcount, which is " +
            std::to_string(workload.records));
  }
  if (workload.fields * workload.field_bytes > kRecordBytesMax) {
    return fail(ErrorCode::kInvalid, "fieldcount times fieldlength is more than " +
                                         std::to_string(kRecordBytesMax) + " bytes");
  }
  return {};
}

}  // namespace

const char* operation_name(Operation operation) {
  switch (operation) {
    case Operation::kRead:
      return "READ";
    case Operation::kUpdate:
      return "UPDATE";
    case Operation::kMultiRead:
      return "MULTIREAD";
    case Operation::kMultiUpdate:
      return "MULTIUPDATE";
    case Operation::kInsert:
      return "INSERT";
  }
  return "";
}

Result<Workload> read_workload(const Properties& properties) {
  Workload workload;
  for (const NumberRow& row : kNumbers) {
    HAT_TRY_VOID(read_number(properties, row.key, row.least, row.most, workload.*row.into));
  }
  for (const SwitchRow& row : kSwitches) {
    HAT_TRY_VOID(read_switch(properties, row.key, workload.*row.into));
  }
  uint64_t threads = workload.threads, seconds = 0;
  HAT_TRY_VOID(read_number(properties, "threadcount", 1, 10'000, threads));
  HAT_TRY_VOID(read_number(properties, "maxexecutiontime", 0, 1'000'000, seconds));
  workload.threads = static_cast<uint32_t>(threads);
  workload.seconds = static_cast<double>(seconds);
  HAT_TRY(const size_t distribution, read_choice(properties, kDistributionRow, 0));
  workload.distribution = static_cast<Distribution>(distribution);
  HAT_TRY(const size_t hashed, read_choice(properties, kInsertOrderRow, 1));
  workload.hashed_keys = hashed == 1;
  HAT_TRY_VOID(read_choice(properties, kLengthRow, 0));
  HAT_TRY(const size_t multi, read_choice(properties, kWorkloadRow, 0));
  HAT_TRY_VOID(read_weights(properties, multi == 1, workload));
  if (const auto* prefix = properties.find("fieldnameprefix")) workload.field_prefix = prefix->text;
  HAT_TRY_VOID(check_sizes(properties, workload));
  return workload;
}

std::vector<std::string> unknown_keys(const Properties& properties) {
  std::vector<std::string_view> known(std::begin(kWithoutEffect), std::end(kWithoutEffect));
  for (const NumberRow& row : kNumbers) known.push_back(row.key);
  for (const SwitchRow& row : kSwitches) known.push_back(row.key);
  for (const WeightRow& row : kWeights) known.push_back(row.key);
  for (const char* key : kRefusedWeights) known.push_back(key);
  for (const WordRow* row : {&kDistributionRow, &kInsertOrderRow, &kLengthRow, &kWorkloadRow}) {
    known.push_back(row->key);
  }
  known.insert(known.end(), {"threadcount", "maxexecutiontime", "fieldnameprefix"});

  std::vector<std::string> unknown;
  for (const auto& [key, value] : properties.all()) {
    const bool of_binding = key.starts_with("hatkv.") || key.starts_with("htrace.");
    if (!of_binding && std::ranges::find(known, key) == known.end()) unknown.push_back(key);
  }
  return unknown;
}

}  // namespace hat::ycsb
