// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/function_series.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "daemon/admin/fake_control.h"
#include "daemon/admin/metrics_reader_for_tests.h"

namespace hat {
namespace {

// Tests the limit of functions that have series of their own.
class SummedFunctions : public testing::Test {
 protected:
  static constexpr size_t kSuccess = static_cast<size_t>(CallOutcome::kSuccess);

  SummedFunctions() { control_.config.admin.functions_max = 2; }

  FunctionCounters& counters(const std::string& method, Side side = Side::kClient) {
    return control_.registry.find("Kv", method).at(side, 0);
  }
  void call(const std::string& method, uint64_t calls) {
    counters(method).started.add(calls);
    counters(method).requests[kSuccess].add(calls);
  }
  std::vector<MetricFamilyText> families() {
    page_.begin_page();
    add_function_series(page_, control_);
    const auto read = read_metrics(page_.text());
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : std::vector<MetricFamilyText>{};
  }
  // Returns the value of the only series of the metric with these labels; NaN if there is none.
  double value(const std::string& name, const std::map<std::string, std::string>& labels) {
    for (const auto& family : families()) {
      for (const auto& sample : family.samples) {
        if (sample.name == name && std::ranges::includes(sample.labels, labels))
          return sample.value;
      }
    }
    return std::nan("");
  }
  double successes(const std::string& method) {
    return value("hatrpc_requests_total", {{"thrift_method", method}, {"outcome", "success"}});
  }
  double summed(const std::string& series) {
    return value("hatrpc_functions_summed", {{"series", series}});
  }

  FakeControl control_;
  MetricFamilies page_;
};

TEST_F(SummedFunctions, AreThoseThatAreCalledLast) {
  for (const char* method : {"a", "b", "c", "d"}) counters(method);
  call("d", 1);
  EXPECT_EQ(successes("d"), 1);
  call("c", 2);
  EXPECT_EQ(successes("c"), 2);
  EXPECT_EQ(summed("client"), 0);
  call("a", 3);
  call("b", 4);
  EXPECT_TRUE(std::isnan(successes("a")));
  EXPECT_EQ(successes("_more"), 7);
  EXPECT_EQ(successes("d"), 1) << "keeps its series";
  EXPECT_EQ(summed("client"), 2);
  EXPECT_EQ(summed("server"), 0);
  EXPECT_TRUE(std::isnan(value("hatrpc_route_info", {{"thrift_method", "_more"}})));
}

TEST_F(SummedFunctions, HaveSumsOfAllTheirCounters) {
  for (const char* method : {"a", "b", "c", "d"}) {
    call(method, 1);
    FunctionCounters& of = counters(method);
    of.started.add();  // in flight
    of.request_sizes.add(10);
    of.reply_sizes.add(100);
    of.retries.add(3);
    of.latency.add(std::chrono::microseconds(2));
    of.fallbacks[static_cast<size_t>(Fallback::kDown)].add(5);
    of.ways.add({Carrier::kTcp, Carrier::kTcp});
  }
  counters("d").ways.add({Carrier::kTcp, Carrier::kNone});
  const auto of_more = [&](const std::string& name,
                           std::map<std::string, std::string> labels = {}) {
    labels.insert({{"thrift_method", "_more"}, {"thrift_service", "Kv"}});
    return value(name, labels);
  };
  EXPECT_EQ(of_more("hatrpc_requests_in_flight"), 2);
  EXPECT_EQ(of_more("hatrpc_request_bytes_total"), 20);
  EXPECT_EQ(of_more("hatrpc_response_bytes_total"), 200);
  EXPECT_EQ(of_more("hatrpc_retries_total"), 6);
  EXPECT_EQ(of_more("hatrpc_request_duration_seconds_bucket", {{"le", "2e-06"}}), 2);
  EXPECT_EQ(of_more("hatrpc_fallbacks_total", {{"reason", "down"}}), 10);
  EXPECT_EQ(of_more("hatrpc_calls_total", {{"reply_protocol", "tcp"}}), 2);
  EXPECT_EQ(of_more("hatrpc_calls_total", {{"reply_protocol", "none"}}), 1);
}

TEST_F(SummedFunctions, AreSummedForEachService) {
  for (const char* method : {"a", "b", "c"}) call(method, 1);
  control_.registry.find("Other", "f").at(Side::kClient, 0).started.add();
  const std::map<std::string, std::string> of_other = {{"thrift_method", "_more"},
                                                       {"thrift_service", "Other"}};
  EXPECT_EQ(value("hatrpc_requests_in_flight", of_other), 1);
}

TEST_F(SummedFunctions, MayBeThoseWithDenials) {
  control_.set_manifest({"",
                         {{"Kv",
                           {},
                           {{"a", false, {}, ""}, {"b", false, {}, ""}, {"c", false, {}, ""}},
                           "",
                           AccessRule{{"host-b"}}}}});
  counters("c", Side::kServer).denied[0].add(4);
  const auto denied = [&](const std::string& method) {
    return value("hatrpc_authz_denied_total", {{"thrift_method", method}, {"mode", "enforce"}});
  };
  // The first function is `_other`. `get`, of FakeControl's own manifest, has no rule.
  EXPECT_EQ(summed("denials"), 2);
  EXPECT_EQ(denied("a"), 0);
  EXPECT_EQ(denied("_more"), 4);
  EXPECT_TRUE(std::isnan(denied("c")));
}

// A page must not have two series with the same labels: Prometheus rejects such a page.
TEST_F(SummedFunctions, MayHaveTheNameOfASum) {
  for (const char* method : {"_more", "a", "b", "c"}) call(method, 1);
  EXPECT_EQ(successes("_more"), 2) << "_more and c";
  EXPECT_EQ(summed("client"), 1) << "c; the limit does not apply to _more";
}

}  // namespace
}  // namespace hat
