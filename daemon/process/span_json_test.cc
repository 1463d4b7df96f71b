// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/span_json.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "daemon/metrics/fake_call_record.h"
#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;

class SpanJsonTest : public testing::Test {
 protected:
  SpanJsonTest() {
    span_.trace.is_recorded = true;
    span_.trace.context.trace_id.fill('a');
    span_.trace.context.parent_id.fill('b');
    span_.trace.span_id.fill('c');
    span_.call = answered_call(function_.at(Side::kClient, 0));
    span_.call.began = TimePoint(5s);
  }
  json line() {
    std::string text;
    SpanJson("host-a").append(text, span_, TimePoint(-1000s));
    EXPECT_TRUE(text.ends_with("\n"));
    EXPECT_EQ(std::ranges::count(text, '\n'), 1);
    return json::parse(text);
  }
  json span_in_line() {
    return line().at("resourceSpans").at(0).at("scopeSpans").at(0).at("spans").at(0);
  }
  // Returns the attributes as an object; the values keep their types.
  static json attributes_of(const json& carrier) {
    json all = json::object();
    for (const json& one : carrier.at("attributes")) {
      EXPECT_EQ(one.at("value").size(), 1u) << one;
      all[one.at("key").get<std::string>()] = one.at("value").begin().value();
    }
    return all;
  }

  MetricsRegistry registry_{1};
  FunctionMetrics& function_ = registry_.find("Kv", "get");
  Span span_;
};

TEST_F(SpanJsonTest, ALineIsATracesDataOfOneSpan) {
  const json whole = line();
  ASSERT_EQ(whole.at("resourceSpans").size(), 1u);
  const json& resource = whole.at("resourceSpans").at(0);
  const json attributes = attributes_of(resource.at("resource"));
  EXPECT_EQ(attributes.at("service.name"), "hatrpcd");
  EXPECT_EQ(attributes.at("service.instance.id"), "host-a");
  ASSERT_EQ(resource.at("scopeSpans").size(), 1u);
  EXPECT_EQ(resource.at("scopeSpans").at(0).at("scope").at("name"), "hatrpcd");
  EXPECT_EQ(resource.at("scopeSpans").at(0).at("spans").size(), 1u);
}

TEST_F(SpanJsonTest, ASpanHasItsIdsTimesAndAttributes) {
  const json span = span_in_line();
  EXPECT_EQ(span.at("traceId"), std::string(32, 'a'));
  EXPECT_EQ(span.at("parentSpanId"), std::string(16, 'b'));
  EXPECT_EQ(span.at("spanId"), std::string(16, 'c'));
  EXPECT_EQ(span.at("name"), "Kv/get");
  EXPECT_EQ(span.at("kind"), 3);
  EXPECT_EQ(span.at("startTimeUnixNano"), "1005000000000");
  EXPECT_EQ(span.at("endTimeUnixNano"), "1005100000000");
  EXPECT_EQ(span.at("status"), json::object());
  EXPECT_EQ(attributes_of(span), json({{"rpc.system.name", "apache_thrift"},
                                       {"rpc.method", "Kv/get"},
                                       {"server.address", "host-b"},
                                       {"hatrpc.peer", "host-b"},
                                       {"hatrpc.outcome", "success"},
                                       {"hatrpc.request_bytes", "7"},
                                       {"hatrpc.reply_bytes", "9"},
                                       {"hatrpc.request_protocol", "tcp"},
                                       {"hatrpc.reply_protocol", "tcp"},
                                       {"hatrpc.waited_us", 10'000.0},
                                       {"hatrpc.wire_us", 16'000.0},
                                       {"hatrpc.peer_us", 24'000.0},
                                       {"hatrpc.server_us", 40'000.0},
                                       {"hatrpc.reply_us", 10'000.0}}));
}

TEST_F(SpanJsonTest, AFailedCallHasTheStatusError) {
  span_.call.outcome = CallOutcome::kLocalError;
  span_.call.failure = engine::Failure::kPeerUnreachable;
  span_.call.peer.clear();
  span_.call.answered.reset();
  const json span = span_in_line();
  EXPECT_EQ(span.at("status").at("code"), 2);
  EXPECT_EQ(span.at("status").at("message"),
            engine::text(engine::Failure::kPeerUnreachable).meaning);
  const json attributes = attributes_of(span);
  EXPECT_EQ(attributes.at("error.type"), "peer_unreachable");
  for (const char* key : {"hatrpc.peer", "server.address", "hatrpc.wire_us", "hatrpc.reply_us"}) {
    EXPECT_FALSE(attributes.contains(key)) << key;
  }
}

TEST_F(SpanJsonTest, OnlySomeOutcomesAreErrors) {
  using enum CallOutcome;
  for (const auto& [outcome, error] : {std::pair{kSuccess, ""},
                                       {kDeclaredException, ""},
                                       {kOneway, ""},
                                       {kApplicationException, "app_exception"},
                                       {kUnknown, "unknown"},
                                       {kLocalError, "local_error"}}) {
    span_.call.outcome = outcome;
    const json span = span_in_line();
    EXPECT_EQ(attributes_of(span).value("error.type", ""), error);
    EXPECT_EQ(span.at("status").value("code", 0), *error == '\0' ? 0 : 2);
  }
}

TEST_F(SpanJsonTest, APeersTimesAreNeverNegative) {
  span_.call.there = engine::ServedTimes{24h, 21h};
  const json attributes = attributes_of(span_in_line());
  EXPECT_EQ(attributes.at("hatrpc.wire_us"), 0.0);
  EXPECT_EQ(attributes.at("hatrpc.peer_us"), 80'000.0);
  EXPECT_EQ(attributes.at("hatrpc.server_us"), 0.0);
}

TEST_F(SpanJsonTest, ASpanOfTheServersDaemonHasTheTimesAtItsHost) {
  span_.kind = SpanKind::kServer;
  span_.call.peer.clear();
  span_.call.there.reset();
  const json span = span_in_line();
  EXPECT_EQ(span.at("kind"), 2);
  EXPECT_EQ(attributes_of(span), json({{"rpc.system.name", "apache_thrift"},
                                       {"rpc.method", "Kv/get"},
                                       {"hatrpc.outcome", "success"},
                                       {"hatrpc.request_bytes", "7"},
                                       {"hatrpc.reply_bytes", "9"},
                                       {"hatrpc.waited_us", 10'000.0},
                                       {"hatrpc.server_us", 80'000.0},
                                       {"hatrpc.reply_us", 10'000.0}}));
}

TEST_F(SpanJsonTest, NamesCannotBreakTheLine) {
  FunctionMetrics& odd = registry_.find("K\"v\n\xff", "get");
  span_.call.counters = &odd.at(Side::kClient, 0);
  EXPECT_EQ(span_in_line().at("name"), "K\"v\n\xef\xbf\xbd/get");
}

}  // namespace
}  // namespace hat
