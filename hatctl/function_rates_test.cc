// SPDX-License-Identifier: Apache-2.0
#include "hatctl/function_rates.h"

#include <gmock/gmock.h>

#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

TEST(Quantiles, AreEstimatedInsideTheirBucket) {
  const struct {
    const char* what;
    std::vector<uint64_t> counts;
    double quantile;
    double microseconds;
  } rows[] = {
      {"the first bucket begins at 0", {10, 0, 0}, 0.5, 0.5},
      {"the middle of 2 to 4 µs", {0, 0, 10, 0}, 0.5, 3},
      {"a bucket's upper bound", {0, 0, 10, 0}, 1, 4},
      {"99 of 100 below", {99, 0, 0, 1, 0}, 0.99, 1},
      {"the hundredth", {99, 0, 0, 1, 0}, 1, 8},
      {"empty buckets are passed", {1, 0, 0, 1, 0}, 0.75, 6},
  };
  for (const auto& row : rows) {
    const auto estimated = estimate(row.counts, row.quantile);
    ASSERT_TRUE(estimated) << row.what;
    EXPECT_DOUBLE_EQ(estimated->microseconds, row.microseconds) << row.what;
    EXPECT_FALSE(estimated->at_least) << row.what;
  }
  EXPECT_FALSE(estimate(std::vector<uint64_t>{0, 0}, 0.5)) << "nothing was counted";
  const auto beyond = estimate(std::vector<uint64_t>{1, 0, 9}, 0.5);
  EXPECT_TRUE(beyond->at_least);
  EXPECT_DOUBLE_EQ(beyond->microseconds, 2) << "where the last bucket begins";
}

json function(const char* method, uint64_t success, uint64_t failed, uint64_t in_flight = 0) {
  return {{"service", "Kv"},
          {"method", method},
          {"side", "client"},
          {"started", success + failed + in_flight},
          {"in_flight", in_flight},
          {"outcomes", {{"success", success}, {"declared_exception", 0}, {"local_error", failed}}},
          {"request_bytes", success * 100},
          {"response_bytes", success * 2000},
          {"latency", {{"buckets", {0, success, 0}}, {"sum_ns", 0}}}};
}

Snapshot look(const std::vector<json>& functions, std::chrono::seconds at) {
  return read_snapshot(json(functions).dump(), std::chrono::steady_clock::time_point(at));
}

TEST(Rates, AreDifferencesPerSecondMostCalledFirst) {
  const auto rates = rates_between(
      look({function("a", 10, 0), function("b", 10, 5), function("c", 0, 0)}, 10s),
      look({function("a", 30, 0, 4), function("b", 110, 9), function("c", 0, 0)}, 12s));
  ASSERT_EQ(rates.size(), 3u);
  EXPECT_EQ(rates[0].method, "b");
  EXPECT_DOUBLE_EQ(rates[0].calls, 52);
  EXPECT_DOUBLE_EQ(rates[0].errors, 2);
  EXPECT_DOUBLE_EQ(rates[1].bytes_in, 1000);
  EXPECT_DOUBLE_EQ(rates[1].bytes_out, 20000);
  EXPECT_EQ(rates[1].in_flight, 4u);
  EXPECT_DOUBLE_EQ(rates[1].p50->microseconds, 1.5);
  EXPECT_FALSE(rates[2].p50);
  EXPECT_FALSE(rates[2].ever_called);
}

TEST(Rates, BeginAtZeroAfterARestartAndForNewFunctions) {
  const auto rates = rates_between(look({function("a", 1000, 0)}, 10s),
                                   look({function("a", 30, 0), function("new", 10, 0)}, 11s));
  EXPECT_DOUBLE_EQ(rates[0].calls, 30);
  EXPECT_DOUBLE_EQ(rates[1].calls, 10);
}

TEST(Rates, RefuseWhatIsNoAnswerOfFunctions) {
  EXPECT_THROW(look({json{{"service", "Kv"}}}, 1s), json::exception);
  EXPECT_THROW(read_snapshot("<html>", {}), json::exception);
}

std::vector<FunctionRates> many(size_t count) {
  std::vector<FunctionRates> all(count);
  for (size_t i = 0; i < count; ++i) {
    all[i].service = "Kv";
    all[i].method = "function" + std::to_string(i);
    all[i].side = "client";
    all[i].ever_called = true;
    all[i].p99 = Quantile{8388608, true};
  }
  return all;
}

TEST(Top, ShowsWhatTheTerminalHasRoomFor) {
  auto functions = many(5);
  functions[4].ever_called = false;
  const std::string all = top_text(functions, {});
  EXPECT_THAT(all, HasSubstr("Kv.function3"));
  EXPECT_THAT(all, Not(HasSubstr("Kv.function4")));
  EXPECT_THAT(all, HasSubstr(">8.39 s"));
  EXPECT_THAT(all, HasSubstr("(1 never called)\n"));
  const std::string few = top_text(functions, {true, false, 80, 5});
  EXPECT_THAT(few, HasSubstr("Kv.function1"));
  EXPECT_THAT(few, Not(HasSubstr("Kv.function2")));
  EXPECT_THAT(few, HasSubstr("(2 more, 1 never called)\n"));
  EXPECT_LT(std::ranges::count(few, '\n'), 5) << "one line is left for the cursor";
}

TEST(Top, CountsFunctionsThatWereNeverCalledAndNotTheirSides) {
  auto functions = many(3);
  auto servers = many(3);
  for (auto& one : servers) one.side = "server";
  functions[1].ever_called = functions[2].ever_called = false;
  servers[2].ever_called = false;  // so function1 was called only on the server's side
  functions.insert(functions.end(), servers.begin(), servers.end());
  EXPECT_THAT(top_text(functions, {}), HasSubstr("(1 never called)\n"));
}

TEST(Top, HasNullForTimesThatNobodyMeasured) {
  const json object = top_json(many(1), 1.5);
  EXPECT_EQ(object.at("interval_s"), 1.5);
  EXPECT_TRUE(object.at("functions")[0].at("p50_us").is_null());
  EXPECT_EQ(object.at("functions")[0].at("p99_us"), 8388608);
}

}  // namespace
}  // namespace hat::hatctl
