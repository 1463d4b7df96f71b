// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/call_queue.h"

#include <gtest/gtest.h>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

class CallQueueTest : public testing::Test {
 protected:
  // Adds a call of which the first piece was sent.
  Call& add(Reply reply, uint64_t ordinal) {
    Call& call = queue_->add(nullptr, head_, reply, counters_);
    call.ordinal = ordinal;
    call.sent = true;
    return call;
  }

  static thrift::Head head_of_get() {
    thrift::Head head;
    head.name = "get";
    return head;
  }

  const thrift::Head head_ = head_of_get();
  FakeNode node_;
  FunctionCounters counters_;
  std::optional<CallQueue> queue_{std::in_place, *node_.worker};
};

TEST_F(CallQueueTest, KnowsWhetherAFailureCouldWaitForEver) {
  EXPECT_FALSE(queue_->holds_up_failure());
  add(Reply::kPossible, 1);
  Call& second = add(Reply::kCertain, 2);
  EXPECT_FALSE(queue_->holds_up_failure());
  queue_->mark_failed(second, engine::Failure::kTooLarge, "");
  EXPECT_TRUE(queue_->holds_up_failure()) << "the first call may be oneway, and never end";
  queue_->front().reply_started = true;
  EXPECT_FALSE(queue_->holds_up_failure()) << "the first call is two-way";
}

TEST_F(CallQueueTest, KnowsWhetherAllMayBeOneway) {
  add(Reply::kPossible, 1);
  add(Reply::kPossible, 2);
  EXPECT_TRUE(queue_->may_all_be_oneway(2));
  Call& third = add(Reply::kPossible, 3);
  third.sent = false;
  EXPECT_TRUE(queue_->may_all_be_oneway(2));
  EXPECT_FALSE(queue_->may_all_be_oneway(3)) << "no part of the third was sent";
  EXPECT_EQ(queue_->newest_sent(3), &(*queue_)[1]);
  add(Reply::kCertain, 4);
  EXPECT_FALSE(queue_->may_all_be_oneway(4));
}

TEST_F(CallQueueTest, CountsTheOutcomesOfTheCallsThatItForgets) {
  add(Reply::kCertain, 1);
  add(Reply::kPossible, 2);
  queue_->mark_failed(add(Reply::kCertain, 3), engine::Failure::kLinkLost, "");
  queue_->forget_all();
  EXPECT_TRUE(queue_->empty());
  EXPECT_EQ(counters_.requests[static_cast<size_t>(CallOutcome::kUnknown)].value(), 2u);
  EXPECT_EQ(counters_.requests[static_cast<size_t>(CallOutcome::kLocalError)].value(), 1u);
}

TEST_F(CallQueueTest, CountsTheMemoryOfManyCallsAndGivesItBack) {
  for (uint64_t i = 1; i <= 66; ++i) add(Reply::kCertain, i);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 2 * sizeof(Call)) << "64 calls are not counted";
  queue_->add_message(queue_->front(), head_);
  EXPECT_EQ(queue_->front().replies, 2);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 2 * sizeof(Call) + sizeof(KeptHead));
  queue_.reset();
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

using CallQueueDeathTest = CallQueueTest;

TEST_F(CallQueueDeathTest, AssertsTheOrderOfItsCalls) {
  add(Reply::kCertain, 2);
  add(Reply::kCertain, 1);
  EXPECT_DEATH(queue_->pop_front(), "in the order of their answers");
}

TEST_F(CallQueueDeathTest, AssertsThatACallFailsOnce) {
  Call& call = add(Reply::kCertain, 1);
  queue_->mark_failed(call, engine::Failure::kTooLarge, "");
  EXPECT_DEATH(queue_->mark_failed(call, engine::Failure::kTooLarge, ""), "fails once");
}

}  // namespace
}  // namespace hat
