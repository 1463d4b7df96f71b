// SPDX-License-Identifier: Apache-2.0
#include "daemon/metrics/spans.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <thread>

#include "daemon/metrics/function_metrics.h"

namespace hat {
namespace {

thrift::TraceContext sampled_context() {
  thrift::TraceContext context{.is_sampled = true, .is_known = true};
  context.trace_id.fill('a');
  context.parent_id.fill('b');
  return context;
}

using namespace std::chrono_literals;

class SpansTest : public testing::Test {
 protected:
  CallTrace begin(const thrift::TraceContext& context) {
    now_ += 1ms;
    return spans_.begin(context, 20, now_);
  }
  void record(uint64_t bytes) {
    spans_.record(begin(sampled_context()), SpanKind::kClient,
                  {.peer = "host-b", .request_bytes = bytes});
  }

  Spans spans_{1};
  TimePoint now_{1h};
};

TEST_F(SpansTest, OnlySampledTracesAreRecorded) {
  thrift::TraceContext context = sampled_context();
  EXPECT_TRUE(begin(context).is_recorded);
  context.is_sampled = false;
  EXPECT_FALSE(begin(context).is_recorded);
}

TEST_F(SpansTest, TheParentOfALaterVersionStays) {
  thrift::TraceContext context = sampled_context();
  EXPECT_EQ(begin(context).parent_id_at, 20 + thrift::kParentIdAt);
  context.is_known = false;
  EXPECT_TRUE(begin(context).is_recorded);
  EXPECT_EQ(begin(context).parent_id_at, 0u);
}

TEST_F(SpansTest, ASecondHasOnlySoMany) {
  thrift::TraceContext unsampled = sampled_context();
  unsampled.is_sampled = false;
  for (int second = 1; second <= 2; ++second) {
    now_ += 1s;
    for (uint32_t i = 0; i < Spans::kSpansPerSecondMax; ++i) {
      EXPECT_TRUE(spans_.begin(sampled_context(), 20, now_ + 999ms * (i % 2)).is_recorded);
      EXPECT_FALSE(spans_.begin(unsampled, 20, now_).is_recorded) << "it does not count";
    }
    const CallTrace further = spans_.begin(sampled_context(), 20, now_ + 999ms);
    EXPECT_FALSE(further.is_recorded);
    EXPECT_EQ(further.parent_id_at, 0u) << "the request stays as it is";
    EXPECT_EQ(spans_.dropped(), static_cast<uint64_t>(second));
  }
}

TEST_F(SpansTest, IdsAreDifferentLowerCaseDigits) {
  std::set<std::string> ids;
  for (int i = 0; i < 1000; ++i) {
    const auto id = begin(sampled_context()).span_id;
    ids.emplace(id.begin(), id.end());
  }
  EXPECT_EQ(ids.size(), 1000u);
  for (const std::string& id : ids) {
    EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos) << id;
  }
  const auto first_of = [](uint64_t seed) {
    return Spans(seed).begin(sampled_context(), 20, {}).span_id;
  };
  EXPECT_EQ(first_of(7), first_of(7));
  EXPECT_NE(first_of(7), first_of(8)) << "workers have different seeds";
}

TEST_F(SpansTest, AreTakenInTheirOrder) {
  EXPECT_FALSE(spans_.pop());
  for (uint64_t i = 1; i <= 3; ++i) record(i);
  for (uint64_t i = 1; i <= 3; ++i) {
    const auto span = spans_.pop();
    ASSERT_TRUE(span);
    EXPECT_EQ(span->call.request_bytes, i);
    EXPECT_EQ(span->call.peer, "host-b");
  }
  EXPECT_FALSE(spans_.pop());
  EXPECT_EQ(spans_.dropped(), 0u);
}

TEST_F(SpansTest, TheNewestAreDroppedAndCountedIfNobodyTakesThem) {
  for (uint64_t i = 0; i < Spans::kSpansMax + 5; ++i) record(i);
  EXPECT_EQ(spans_.dropped(), 5u);
  EXPECT_EQ(spans_.pop()->call.request_bytes, 0u);
  record(7777);
  EXPECT_EQ(spans_.dropped(), 5u);
  for (size_t i = 1; i < Spans::kSpansMax; ++i) spans_.pop();
  EXPECT_EQ(spans_.pop()->call.request_bytes, 7777u);
}

TEST_F(SpansTest, AnotherThreadTakesThem) {
  constexpr uint64_t kCount = 20'000;
  std::thread taker([this] {
    uint64_t last = 0;
    while (last < kCount) {
      const auto span = spans_.pop();
      if (!span) continue;
      EXPECT_GT(span->call.request_bytes, last);
      last = span->call.request_bytes;
    }
  });
  uint64_t recorded = 0;
  while (recorded < kCount) {
    const uint64_t before = spans_.dropped();
    record(recorded + 1);
    if (spans_.dropped() == before) ++recorded;
  }
  taker.join();
  EXPECT_FALSE(spans_.pop());
}

}  // namespace
}  // namespace hat
