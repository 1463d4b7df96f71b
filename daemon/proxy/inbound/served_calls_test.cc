// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_calls.h"

#include <gmock/gmock.h>

#include <string>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

class ServedCallsTest : public testing::Test {
 protected:
  ServedCall& add(uint64_t ordinal) {
    calls_.add({.ordinal = ordinal, .counters = &counters_});
    return calls_.back();
  }
  ServedCall& add_whole(uint64_t ordinal) {
    ServedCall& call = add(ordinal);
    call.on_last_piece(1, false);
    return call;
  }
  uint64_t buffered() const { return node_.counters.buffered_bytes.value(); }
  uint64_t ended(CallOutcome outcome) const {
    return counters_.requests[static_cast<size_t>(outcome)].value();
  }

  FakeNode node_;
  FunctionCounters& counters_ = node_.metrics.find("Kv", "get").at(Side::kServer, 0);
  PeerShare share_;
  ServedCalls calls_{*node_.worker, share_};
  const std::string text_ = "request";
  const Bytes request_ = std::as_bytes(std::span(text_));
};

// The reply to a call can begin although the server has received no part of the request, because a
// server can send bytes at any time.
TEST(ServedCall, KnowsWhetherTheServerHasReceivedItApartFromWhetherItIsAnswered) {
  ServedCall early;
  EXPECT_TRUE(early.begin_reply({}));
  EXPECT_FALSE(early.begin_reply({}));
  EXPECT_TRUE(early.is_answering());
  EXPECT_FALSE(early.is_handed_over());
  early.hand_over({});
  EXPECT_TRUE(early.is_handed_over());
  EXPECT_TRUE(early.is_answering());
  EXPECT_FALSE(early.begin_reply({}));

  ServedCall usual;
  usual.hand_over({});
  usual.hand_over({});
  EXPECT_TRUE(usual.is_handed_over());
  EXPECT_FALSE(usual.is_answering());
  EXPECT_TRUE(usual.begin_reply({}));
  EXPECT_FALSE(usual.begin_reply({}));
}

TEST_F(ServedCallsTest, TakeOneCallAfterTheOther) {
  EXPECT_TRUE(calls_.takes(1));
  add(5);
  EXPECT_FALSE(calls_.takes(6)) << "a call is arriving";
  EXPECT_EQ(calls_.arriving(5), &calls_.back());
  EXPECT_EQ(calls_.arriving(4), nullptr);
  calls_.back().on_last_piece(1, false);
  EXPECT_EQ(calls_.arriving(5), nullptr);
  EXPECT_FALSE(calls_.takes(5));
  EXPECT_TRUE(calls_.takes(6));
  add(6).cancel();
  EXPECT_TRUE(calls_.takes(7)) << "the rest of the call was cut";
}

TEST_F(ServedCallsTest, CountHeldBytesUntilTheyAreDropped) {
  calls_.hold(add_whole(1), request_);
  calls_.hold(add_whole(2), request_);
  EXPECT_EQ(buffered(), 2 * request_.size());
  EXPECT_EQ(share_.buffered_bytes, 2 * request_.size());
  EXPECT_EQ(calls_.drop_newest_held(), request_.size());
  EXPECT_EQ(calls_.drop_held(calls_.front()), request_.size());
  EXPECT_TRUE(calls_.holds_nothing());
  EXPECT_EQ(buffered(), 0u);
}

TEST_F(ServedCallsTest, CountTheMemoryOfALongQueueUntilItIsEmpty) {
  constexpr uint64_t kCalls = ServedCalls::kCallsUncounted + 1;
  for (uint64_t ordinal = 1; ordinal <= kCalls; ++ordinal) add_whole(ordinal);
  EXPECT_GE(buffered(), kCalls * sizeof(ServedCall));
  while (!calls_.empty()) calls_.end_front(CallOutcome::kSuccess);
  EXPECT_EQ(buffered(), 0u);
  EXPECT_EQ(ended(CallOutcome::kSuccess), kCalls);
}

TEST_F(ServedCallsTest, CountCallsWithoutAnEndAsUnknown) {
  {
    ServedCalls calls(*node_.worker, share_);
    calls.add({.ordinal = 1, .counters = &counters_});
    calls.hold(calls.back(), request_);
  }
  EXPECT_EQ(ended(CallOutcome::kUnknown), 1u);
  EXPECT_EQ(buffered(), 0u);
}

TEST_F(ServedCallsTest, AreReplacedByTheirHeldBytesInAnOpaqueStream) {
  calls_.hold(add(1), request_);
  calls_.become_opaque();
  calls_.hold_opaque(request_);
  EXPECT_EQ(buffered(), 2 * request_.size());
  EXPECT_EQ(calls_.take_opaque().size(), 2 * request_.size());
  EXPECT_EQ(buffered(), 0u);
}

TEST(ServedCallTest, GoesThroughItsStates) {
  ServedCall call;
  EXPECT_FALSE(call.is_complete() || call.is_cancelled() || call.is_handed_over());
  call.hand_over({});
  EXPECT_TRUE(call.begin_reply({}));
  EXPECT_FALSE(call.begin_reply({})) << "kMore follows";
  call.hand_over({});
  EXPECT_TRUE(call.is_answering()) << "a later piece of its request does not set it back";
  call.on_last_piece(0, true);
  EXPECT_EQ(call.match, ServedCall::Match::kOrder);
  EXPECT_EQ(call.reply, Reply::kNone);
  call.cancel();
  call.cancel();
  EXPECT_TRUE(call.is_complete() && call.is_cancelled());
}

// --- Planted violations ---

using ServedCallsDeathTest = ServedCallsTest;

TEST_F(ServedCallsDeathTest, AnOrdinalThatDoesNotAscend) {
  add_whole(2);
  EXPECT_DEATH(add(2), "ordinals ascend");
}

TEST_F(ServedCallsDeathTest, AnEndedCallThatStillHoldsBytes) {
  calls_.hold(add_whole(1), request_);
  EXPECT_DEATH(calls_.end_front(CallOutcome::kSuccess), "the next call would get them");
}

TEST_F(ServedCallsDeathTest, HeldBytesThatBelongToNoCall) {
  ServedCall& call = add(1);
  calls_.hold(call, request_);
  call.held_bytes = 0;
  EXPECT_DEATH(calls_.hold(call, request_), "held bytes that belong to no call");
}

TEST_F(ServedCallsDeathTest, ASecondLastPiece) {
  EXPECT_DEATH(add_whole(1).on_last_piece(1, false), "kArriving");
}

}  // namespace
}  // namespace hat
