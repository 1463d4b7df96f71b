// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/resume_ends_test.cc: tests a stream that loses its RDMA lane with frames that get no
// reply (of oneway calls, the client's FIN, a kSync, a kDetach), and in takeovers.
#include <fcntl.h>

#include "daemon/proxy/fake_lane_loss.h"
#include "daemon/proxy/fake_successor.h"

namespace hat {
namespace {

using engine::FrameKind;
using namespace std::chrono_literals;
using testing::Contains;
using testing::ElementsAre;
using testing::IsSupersetOf;
using testing::Not;

std::string oneway_get(size_t bytes = 8) { return get_message('\4', 1, bytes); }

// The client's stream is on the RDMA lane, after two oneway calls.
class ResumeOfOneways : public LaneLoss {
 protected:
  ResumeOfOneways() : LaneLoss(on_a_lane(true), {}) {
    for (int i = 0; i < 2; ++i) {
      pair_.send(client_, oneway_get());
      pair_.pass(150ms);
      EXPECT_EQ(served(), oneway_get());
    }
  }
  // Sends a oneway call, which is lost with the lane.
  void lose_with(const std::string& call) {
    lose_at_server();
    EXPECT_FALSE(pair_.send(client_, call)) << "the client's side has not noticed the loss";
    lose_at_client();
  }
  void expect_that_calls_succeed() {
    pair_.send(client_, oneway_get());
    exchange();
    EXPECT_EQ(served(), oneway_get());
    EXPECT_FALSE(client_->closed);
  }
};

TEST_F(ResumeOfOneways, ACallThatWasLostIsSentAgain) {
  lose_with(oneway_get());
  exchange();
  EXPECT_EQ(resumes(), 1u);
  EXPECT_EQ(served(), oneway_get()) << "once";
  EXPECT_EQ(pair_.caller().counters.oneway_dropped.value(), 0u);
  expect_that_calls_succeed();
}

TEST_F(ResumeOfOneways, ACallDuringTheWaitIsSentAfterTheAnswer) {
  lose_with(oneway_get(100));
  client_->incoming += oneway_get(200);
  let_read();
  EXPECT_THAT(kinds_in(pair_.caller_link()->written), ElementsAre(FrameKind::kResume));
  exchange();
  EXPECT_EQ(served(), oneway_get(100) + oneway_get(200));
  expect_that_calls_succeed();
}

TEST_F(ResumeOfOneways, ASyncThatWasLostIsSentAgain) {
  lose_at_server();
  pair_.send(client_, oneway_get(5000));
  pair_.send(client_, oneway_get(5000));  // more than half of limits.retry_request is in use
  lose_at_client();
  EXPECT_THAT(kinds_during_exchange(pair_.caller_link()),
              IsSupersetOf({FrameKind::kResume, FrameKind::kCall, FrameKind::kSync}))
      << "the peer then shows that it has taken the calls";
  EXPECT_EQ(served(), oneway_get(5000) + oneway_get(5000));
  EXPECT_EQ(pair_.caller().counters.buffered_bytes.value(), 0u);
}

// --- In a takeover or at the end of a daemon ---

TEST_F(ResumeOfOneways, ALinkThatLeavesWaitsForACallThatIsSentAgain) {
  lose_with(oneway_get());
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kGoAway}));
  EXPECT_THAT(kinds_in(pair_.caller_link()->written), ElementsAre(FrameKind::kResume));
  exchange();
  EXPECT_EQ(served(), oneway_get()) << "once";
}

TEST_F(ResumeOfOneways, TheSuccessorGetsTheClientAfterACallThatIsSentAgain) {
  const Descriptor null{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  client_->descriptors = pair_.server_connection()->descriptors = {null.get()};
  lose_with(oneway_get(100));
  client_->incoming += oneway_get(200);
  let_read();
  const auto successor = std::make_shared<FakeSuccessor>();
  pair_.caller().worker->begin_hand_over(successor);
  pair_.reactor().end_iteration();
  pair_.reactor().end_iteration();
  EXPECT_THAT(kinds_in(pair_.caller_link()->written), ElementsAre(FrameKind::kResume));
  EXPECT_TRUE(successor->taken.empty());
  exchange();
  exchange();
  EXPECT_EQ(served(), oneway_get(100)) << "once";
  EXPECT_EQ(successor->taken.size(), 1u);
  EXPECT_TRUE(successor->server) << "the connection to the server moves, too";
  EXPECT_EQ(successor->bytes + client_->incoming, oneway_get(200));
  EXPECT_TRUE(client_->closed);
}

TEST_F(ResumeOfOneways, ADrainWaitsForACallThatIsSentAgain) {
  lose_with(oneway_get());
  pair_.caller().worker->begin_drain();
  pair_.reactor().end_iteration();
  pair_.caller_link()->written.clear();  // the question is on its way
  EXPECT_FALSE(pair_.caller().worker->drained());
  pair_.reactor().advance(OutboundStream::kResumeWait);
  pair_.reactor().end_iteration();
  pair_.pass(50ms);
  EXPECT_TRUE(pair_.caller().worker->drained()) << "there was no answer in time";
}

TEST_F(Resume, ADetachThatWasLostIsSentAgain) {
  const Descriptor null{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  pair_.server_connection()->descriptors = {null.get()};
  lose_at_server();
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kGoAway}));
  EXPECT_THAT(kinds_in(pair_.caller_link()->written), Not(Contains(FrameKind::kDetach)))
      << "the lane carries it";
  lose_at_client();
  EXPECT_THAT(kinds_during_exchange(pair_.server_link()),
              IsSupersetOf({FrameKind::kResumed, FrameKind::kDetached}));
  EXPECT_EQ(pair_.server().counters.upstream.detached.value(), 1u);
  EXPECT_FALSE(client_->closed || client_->shut) << "it waits for a link to the successor";
}

// --- The client's end ---

TEST_F(Resume, TheFinThatWasLostIsSentAgain) {
  lose_at_server();
  pair_.send(client_, get_call());
  client_->end = true;
  let_read();
  lose_at_client();
  exchange();
  EXPECT_EQ(served(), get_call());
  EXPECT_TRUE(pair_.server_connection()->shut);
  EXPECT_EQ(answer(), get_reply());
  EXPECT_TRUE(client_->closed);
}

TEST_F(Resume, TheClientAbortsDuringTheWait) {
  lose_at_server();
  pair_.send(client_, get_call());
  lose_at_client();
  client_->error = ECONNRESET;
  exchange();
  EXPECT_TRUE(client_->closed);
  EXPECT_TRUE(pair_.server_connection()->closed || pair_.server_connection()->shut);
  EXPECT_EQ(pair_.caller().counters.buffered_bytes.value(), 0u);
}

}  // namespace
}  // namespace hat
