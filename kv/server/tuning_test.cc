// SPDX-License-Identifier: Apache-2.0
// kv/server/tuning_test.cc: tests the storage settings that HatKV derives from hints.
#include "kv/server/tuning.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <cstdio>
#include <fstream>

namespace hat {
namespace {

using std::chrono::microseconds;

constexpr uint32_t kCores = 8;

struct HintRow {
  const char* name;
  const char* service;   // hints of the service, as in a manifest
  const char* function;  // hints of the function
  const char* name_of_function;
  Tuning tuning;
};

const HintRow kHints[] = {
    {"none", "{}", "{}", "get", {}},
    {"concurrency_is_readers", "{concurrency: 64}", "{}", "get", {.readers = 64}},
    {"but_no_core_is_left_idle", "{concurrency: 2}", "{}", "get", {.readers = 8}},
    {"and_no_more_than_lmdb_bears", "{concurrency: 1000000}", "{}", "get", {.readers = 10'000}},
    {"under", "{concurrency: under}", "{}", "get", {.readers = 8}},
    {"full", "{concurrency: full}", "{}", "get", {.readers = 8}},
    {"over", "{concurrency: over}", "{}", "get", {.readers = 32}},
    {"of_a_function_that_reads", "{concurrency: 16}", "{concurrency: 40}", "scan", {.readers = 40}},
    {"not_of_one_that_writes", "{concurrency: 16}", "{concurrency: 40}", "put", {.readers = 16}},
    {"latency", "{perf_goal: latency}", "{}", "put", {}},
    {"throughput_of_the_service",
     "{perf_goal: throughput}",
     "{}",
     "put",
     {.put_patience = microseconds(500),
      .multiput_patience = microseconds(500),
      .remove_patience = microseconds(500)}},
    {"throughput_of_a_function",
     "{perf_goal: latency}",
     "{perf_goal: throughput}",
     "multiput",
     {.multiput_patience = microseconds(500)}},
    {"res_util_of_a_function",
     "{}",
     "{perf_goal: res_util}",
     "remove",
     {.remove_patience = microseconds(2000)}},
};

class Tunings : public testing::TestWithParam<HintRow> {
 protected:
  // Returns the settings that tune() derives from the text of a manifest.
  static Result<Tuning> tuned(const std::string& text) {
    const std::string path =
        testing::TempDir() + "hatkv-tuning-" + std::to_string(getpid()) + ".yaml";
    std::ofstream(path) << text;
    const auto tuning = read_tuning(path, kCores);
    std::remove(path.c_str());
    return tuning;
  }
};

TEST_P(Tunings, FollowHints) {
  const HintRow& row = GetParam();
  const auto tuning =
      tuned(std::string("hatrpc_manifest: 1\nservices:\n  HatKV:\n    hint: ") + row.service +
            "\n    functions:\n      " + row.name_of_function + ": {hint: " + row.function + "}\n");
  ASSERT_TRUE(tuning) << tuning.error().message;
  EXPECT_EQ(*tuning, row.tuning) << describe(*tuning);
}

INSTANTIATE_TEST_SUITE_P(Rows, Tunings, testing::ValuesIn(kHints),
                         [](const auto& row) { return std::string(row.param.name); });

TEST_F(Tunings, TheServersSideWins) {
  const auto tuning = tuned(
      "hatrpc_manifest: 1\nservices:\n  HatKV:\n    hint: {concurrency: 16}\n"
      "    s_hint: {concurrency: 24}\n    c_hint: {concurrency: 99}\n");
  ASSERT_TRUE(tuning) << tuning.error().message;
  EXPECT_EQ(tuning->readers, 24u);
}

TEST_F(Tunings, MistakesAreToldWithTheirPlaces) {
  EXPECT_THAT(
      tuned("hatrpc_manifest: 1\nservices:\n  HatKV:\n    hint: {perf_gaol: x}\n").error().message,
      testing::HasSubstr(".yaml:4:12: error: unknown hint 'perf_gaol'"));
  EXPECT_THAT(tuned("hatrpc_manifest: 1\nservices: {Echo: {}}\n").error().message,
              testing::HasSubstr("has no service HatKV"));
}

TEST(TuningText, SaysWhatWritesDo) {
  EXPECT_EQ(describe(Tuning{.readers = 16, .multiput_patience = microseconds(500)}),
            "readers 16; put commits at once; multiput waits up to 500 µs for other writes; "
            "remove commits at once");
}

}  // namespace
}  // namespace hat
