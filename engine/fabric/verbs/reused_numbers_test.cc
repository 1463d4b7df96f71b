// SPDX-License-Identifier: Apache-2.0
// engine/fabric/verbs/reused_numbers_test.cc: tests completions that a device reports after the end
// of their queue pair, also when the device has given the number of that queue pair to another one.
// No test can make a device do so. This test replaces the functions of libibverbs that the queues
// and queue pairs call.
#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <array>
#include <deque>
#include <vector>

#include "engine/fabric/verbs/objects.h"

namespace {

constexpr uint32_t kNumber = 7;  // of every queue pair

// The completions that the device returns next, and the wr_id of each receive that was posted.
std::deque<ibv_wc> completions;
std::vector<uint64_t> receives;

int poll_cq(ibv_cq*, int count, ibv_wc* into) {
  int found = 0;
  for (; found < count && !completions.empty(); ++found) {
    into[found] = completions.front();
    completions.pop_front();
  }
  return found;
}

int post_srq_recv(ibv_srq*, ibv_recv_wr* work, ibv_recv_wr**) {
  for (; work != nullptr; work = work->next) receives.push_back(work->wr_id);
  return 0;
}

}  // namespace

extern "C" {
ibv_qp* ibv_create_qp(ibv_pd* domain, ibv_qp_init_attr*) {
  auto* pair = new ibv_qp{};
  pair->context = domain->context;
  pair->qp_num = kNumber;
  return pair;
}
int ibv_destroy_qp(ibv_qp* pair) {
  delete pair;
  return 0;
}
int ibv_modify_qp(ibv_qp*, ibv_qp_attr*, int) { return 0; }
int ibv_destroy_cq(ibv_cq*) { return 0; }
int ibv_destroy_srq(ibv_srq*) { return 0; }
int ibv_destroy_comp_channel(ibv_comp_channel*) { return 0; }
}

namespace hat::engine::verbs {
namespace {

class ReusedNumbers : public testing::Test {
 protected:
  // A receive queue with one entry, in which a receive with the id `id` is posted.
  struct Receives {
    Receives(ibv_context& context, uint64_t id) { srq.context = &context, post(id); }
    size_t post(uint64_t id) {
      const ReceiveRequest request{.id = id};
      return queue.post({&request, 1});
    }
    ibv_srq srq{};
    VerbsReceiveQueue queue{&srq, 1};
  };

  ReusedNumbers() {
    completions.clear();
    receives.clear();
    device_.name = "fake0";
    context_.ops.poll_cq = poll_cq;
    context_.ops.post_srq_recv = post_srq_recv;
    cq_.context = domain_.context = &context_;
  }
  std::unique_ptr<QueuePair> queue_pair(Receives& of) {
    return *VerbsQueuePair::create(device_, domain_,
                                   {.send_cq = queue_, .recv_cq = queue_, .srq = of.queue});
  }
  static void complete(uint64_t wr_id, ibv_wc_status status) {
    completions.push_back({.wr_id = wr_id, .status = status, .opcode = IBV_WC_RECV});
    completions.back().qp_num = kNumber;
  }
  std::vector<Completion> poll() {
    std::array<Completion, 8> some;
    const size_t count = queue_.poll(some);
    return {some.begin(), some.begin() + static_cast<ptrdiff_t>(count)};
  }

  Device device_;
  ibv_context context_{};
  ibv_pd domain_{};
  ibv_comp_channel channel_{};
  ibv_cq cq_{};
  VerbsCompletionQueue queue_{&channel_, &cq_};
};

TEST_F(ReusedNumbers, AReceiveOfADestroyedQueuePairNamesNoOther) {
  Receives its(context_, 100), others(context_, 200);
  auto pair = queue_pair(its);
  complete(receives[0], IBV_WC_SUCCESS);
  pair.reset();
  const auto next = queue_pair(others);
  ASSERT_EQ(next->number(), kNumber);
  const auto found = poll();
  ASSERT_EQ(found.size(), 1u) << "its memory belongs to the caller";
  EXPECT_EQ(found[0].id, 100u);
  EXPECT_EQ(found[0].queue_pair, 0u);
}

TEST_F(ReusedNumbers, AReceiveThatCompletesLateIsReturnedWithoutAQueuePair) {
  Receives its(context_, 100);
  queue_pair(its).reset();
  EXPECT_EQ(its.post(101), 0u) << "its only entry is in use";
  complete(receives[0], IBV_WC_WR_FLUSH_ERR);
  const auto found = poll();
  ASSERT_EQ(found.size(), 1u) << "its memory belongs to the caller";
  EXPECT_EQ(found[0].id, 100u);
  EXPECT_EQ(found[0].status, Status::kFlushed);
  EXPECT_EQ(found[0].queue_pair, 0u);
  EXPECT_EQ(its.post(101), 1u) << "its entry is free again";
}

TEST_F(ReusedNumbers, AReceiveThatCompletesLateIsNotOfTheNextQueuePairOfItsReceiveQueue) {
  Receives its(context_, 100);
  queue_pair(its).reset();
  complete(receives[0], IBV_WC_SUCCESS);
  const auto next = queue_pair(its);
  auto found = poll();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 100u);
  EXPECT_EQ(found[0].queue_pair, 0u);
  ASSERT_EQ(its.post(101), 1u);
  complete(receives[1], IBV_WC_SUCCESS);
  found = poll();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 101u);
  EXPECT_EQ(found[0].queue_pair, kNumber);
}

TEST_F(ReusedNumbers, AReceiveThatCompletesAfterItsReceiveQueueIsDropped) {
  {
    Receives its(context_, 100);
    queue_pair(its).reset();
  }
  Receives others(context_, 200);
  complete(receives[0], IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(poll().empty());
  const auto next = queue_pair(others);
  complete(receives[0], IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(next->state(), QueuePairState::kUnconnected);
}

TEST_F(ReusedNumbers, AReceiveThatCompletesLateChangesNothingOfTheNextQueuePair) {
  Receives its(context_, 100), others(context_, 200);
  queue_pair(its).reset();
  const auto next = queue_pair(others);
  complete(receives[0], IBV_WC_WR_FLUSH_ERR);
  auto found = poll();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 100u);
  EXPECT_EQ(found[0].queue_pair, 0u);
  EXPECT_EQ(its.post(101), 1u);
  EXPECT_EQ(next->state(), QueuePairState::kUnconnected);
  EXPECT_EQ(others.post(201), 0u) << "its only entry is in use";
  complete(receives[1], IBV_WC_SUCCESS);
  found = poll();
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].id, 200u);
  EXPECT_EQ(found[0].queue_pair, kNumber);
  EXPECT_EQ(others.post(201), 1u);
}

TEST_F(ReusedNumbers, ARequestThatCompletesLateChangesNothingOfTheNextQueuePair) {
  Receives its(context_, 100);
  queue_pair(its).reset();
  const auto next = queue_pair(its);
  complete(VerbsQueuePair::kSendBit, IBV_WC_WR_FLUSH_ERR);
  EXPECT_TRUE(poll().empty());
  EXPECT_EQ(next->state(), QueuePairState::kUnconnected);
}

}  // namespace
}  // namespace hat::engine::verbs
