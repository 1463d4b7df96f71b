// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/draws.cc: prints keys, values and operations that hatkv-ycsb's generators draw, so that
// draws_test.py can compare them with YCSB's (java/…/Draws.java).
//
//   ycsb_draws COUNT FILE [KEY=VALUE]...
#include <cstdio>
#include <map>

#include "base/number.h"
#include "kv/ycsb/generators.h"
#include "kv/ycsb/record.h"

namespace hat::ycsb {
namespace {

constexpr int64_t kNumbers[] = {0, 1, 2, 9, 255, 256, 99'999, int64_t{1} << 31, 10'000'000'000};

void print_constants(const Workload& workload) {
  if (workload.distribution == Distribution::kUniform) return;
  const KeyChooser keys(workload);
  const Zipfian& zipfian = keys.zipfian();
  std::printf("constant zetan %.17g\nconstant eta %.17g\nconstant alpha %.17g\n", zipfian.zetan(),
              zipfian.eta(), zipfian.alpha());
}

void print_first_record(const Workload& workload, Random& random) {
  const std::string key = key_of(workload, static_cast<int64_t>(workload.insert_start));
  std::printf("first %s\n", key.c_str());
  const std::string value = make_value(workload, key, random);
  std::map<std::string, std::string> fields;  // sorts the fields by name, as Draws.java does
  for (uint64_t i = 0; i < workload.fields; ++i) {
    fields[workload.field_prefix + std::to_string(i)] =
        value.substr(i * workload.field_bytes, workload.field_bytes);
  }
  for (const auto& [name, bytes] : fields) {
    if (workload.data_integrity) std::printf("value %s %s\n", name.c_str(), bytes.c_str());
    std::printf("length %s %zu\n", name.c_str(), bytes.size());
  }
}

int print_draws(int count, const Workload& workload) {
  Random random(std::random_device{}());
  for (const int64_t number : kNumbers) {
    std::printf("hash %ld %ld\n", number, fnv_hash(number));
    std::printf("key %ld %s\n", number, key_of(workload, number).c_str());
  }
  print_constants(workload);
  print_first_record(workload, random);
  const KeyChooser keys(workload);
  for (int i = 0; i < count; ++i) std::printf("record %ld\n", keys.next(random));
  const OperationChooser operations(workload);
  for (int i = 0; i < count; ++i) {
    std::printf("operation %s\n", operation_name(operations.next(random)));
  }
  return 0;
}

Result<Workload> workload_of(int argc, char** argv) {
  Properties properties;
  HAT_TRY_VOID(properties.read_file(argv[2]));
  for (int i = 3; i < argc; ++i) HAT_TRY_VOID(properties.set(argv[i]));
  return read_workload(properties);
}

}  // namespace
}  // namespace hat::ycsb

int main(int argc, char** argv) {
  const auto count = argc < 3 ? std::nullopt : hat::parse_number<int>(argv[1]);
  if (!count) {
    std::fputs("usage: ycsb_draws COUNT FILE [KEY=VALUE]...\n", stderr);
    return 2;
  }
  const auto workload = hat::ycsb::workload_of(argc, argv);
  if (!workload) {
    std::fprintf(stderr, "ycsb_draws: %s\n", workload.error().message.c_str());
    return 1;
  }
  return hat::ycsb::print_draws(*count, *workload);
}
