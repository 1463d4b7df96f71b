// SPDX-License-Identifier: Apache-2.0
// kv/ycsb/report_test.cc: tests the values about clients in a run's report.
#include "kv/ycsb/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace hat::ycsb {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

// Returns the results of two clients in one second: one client makes three operations, and the
// second client makes one operation, which does not end in this second.
Results of_two_clients() {
  Results results;
  results.seconds = 1;
  const auto at = [](int ms) { return bench::Window::Clock::time_point(milliseconds(ms)); };
  const bench::Window window{at(0), at(1000)};
  Measured& reads = results.operations[static_cast<size_t>(Operation::kRead)];
  bench::Account quick, slow;
  for (int i = 0; i < 3; ++i) {
    const auto time = quick.add_call(window, at(i * 300), at(i * 300), at(i * 300 + 300));
    reads.latencies.record(static_cast<uint64_t>(time->count()));
  }
  const auto time = slow.add_call(window, at(-50), at(-50), at(1500));
  reads.latencies.record(static_cast<uint64_t>(time->count()));
  for (bench::Account* one : {&quick, &slow}) {
    one->close();
    results.account.add(*one);
  }
  return results;
}

TEST(Report, JsonSaysWhatTheEndCutOffAndWhoGotNothing) {
  const auto json = nlohmann::json::parse(as_json(of_two_clients(), 2));
  EXPECT_EQ(json.at("threads"), 2);
  EXPECT_EQ(json.at("calls_per_s"), 3);
  EXPECT_EQ(json.at("mean_us"), 475'000);  // (3 x 300 + 1000) / 4
  EXPECT_EQ(json.at("fewest"), 0);
  EXPECT_EQ(json.at("most"), 3);
  EXPECT_EQ(json.at("cut_off"), 1);
  EXPECT_EQ(json.at("read").at("operations"), 4);
  EXPECT_EQ(json.at("read").at("max_us"), 1'000'000);
  EXPECT_FALSE(json.contains("update")) << "no update was made";
}

TEST(Report, TextSaysItToo) {
  const std::string text = as_text(of_two_clients());
  EXPECT_THAT(text, HasSubstr("[CLIENT], FewestOperations, 0\n"));
  EXPECT_THAT(text, HasSubstr("[CLIENT], MostOperations, 3\n"));
  EXPECT_THAT(text, HasSubstr("[CLIENT], CutOffOperations, 1\n"));
  EXPECT_THAT(text, HasSubstr("[READ], AverageLatency(us), 475000.00\n"));
}

}  // namespace
}  // namespace hat::ycsb
