// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/resume_test.cc: tests what becomes of a stream whose RDMA lane is lost while the
// link between the two daemons is up.
#include <gmock/gmock.h>

#include "daemon/proxy/fake_lane_loss.h"

namespace hat {
namespace {

using engine::FrameKind;
using namespace std::chrono_literals;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;

std::string bytes_of(const engine::ResumeMeta& meta) {
  return {reinterpret_cast<const char*>(&meta), sizeof meta};
}

class ResumeInMode : public Resume, public testing::WithParamInterface<UpstreamMode> {
 protected:
  ResumeInMode() : Resume({.mode = GetParam()}) {}
};

TEST_P(ResumeInMode, ACallThatTheServerHasIsAnswered) {
  begin_call();
  lose();
  EXPECT_EQ(received(), "");
  EXPECT_EQ(answer(), get_reply());
  EXPECT_EQ(resumes(), 1u);
  EXPECT_EQ(retries(), 0u);
  EXPECT_EQ(served(), "") << "the call was not sent again";
  expect_that_calls_succeed();
}

TEST_P(ResumeInMode, TheClientsSideCanNoticeTheLossFirst) {
  begin_call();
  lose_at_client();
  EXPECT_EQ(received(), "");
  EXPECT_EQ(answer(), get_reply());
  EXPECT_EQ(resumes(), 1u);
  expect_that_calls_succeed();
}

TEST_P(ResumeInMode, AStreamWithoutCallsContinues) {
  lose();
  pair_.pass(50ms);
  EXPECT_EQ(resumes(), 1u);
  expect_that_calls_succeed();
}

TEST_P(ResumeInMode, TheReplyWaitsUntilTheStreamContinues) {
  begin_call();
  lose_at_server();
  reply();
  EXPECT_THAT(kinds_in(pair_.server_link()->written), Not(Contains(FrameKind::kReply)));
  lose_at_client();
  EXPECT_EQ(received(), get_reply());
  expect_that_calls_succeed();
}

INSTANTIATE_TEST_SUITE_P(Modes, ResumeInMode,
                         testing::Values(UpstreamMode::kMirror, UpstreamMode::kShared),
                         [](const auto& row) {
                           return row.param == UpstreamMode::kMirror ? "mirror" : "shared";
                         });

TEST_F(Resume, NewRequestsWaitForTheAnswer) {
  lose_at_client();
  client_->incoming += get_call();
  FakeNode::read(client_);
  pair_.reactor().end_iteration();
  EXPECT_EQ(kinds_in(pair_.caller_link()->written), std::vector{FrameKind::kResume});
  exchange();
  EXPECT_EQ(served(), get_call());
  EXPECT_EQ(answer(), get_reply());
}

TEST_F(Resume, ARequestOfWhichAPartWasSentContinues) {
  const std::string request = get_call(5000);
  pair_.send(client_, request.substr(0, 2000));
  pair_.pass(50ms);
  lose();
  pair_.pass(50ms);
  EXPECT_EQ(resumes(), 1u);
  pair_.send(client_, request.substr(2000));
  pair_.pass(50ms);
  EXPECT_EQ(served(), request);
  EXPECT_EQ(answer(), get_reply());
}

TEST_F(Resume, AnOpaqueStreamContinuesWithoutAGap) {
  const std::string opaque = "\xff these bytes are not a Thrift message";
  EXPECT_FALSE(pair_.send(client_, opaque));
  pair_.pass(50ms);
  pair_.server_replies("one");
  EXPECT_EQ(received(), "one");
  lose();
  pair_.server_replies("two");
  EXPECT_EQ(received(), "two");
  EXPECT_EQ(resumes(), 1u);
  pair_.send(client_, "more");
  pair_.pass(50ms);
  EXPECT_EQ(served(), opaque + "more");
  EXPECT_FALSE(client_->closed);
}

TEST_F(Resume, AnOpaqueStreamThatHasLostBytesIsReset) {
  EXPECT_FALSE(pair_.send(client_, "\xff these bytes are not a Thrift message"));
  pair_.pass(50ms);
  lose_at_client();
  pair_.server_replies("lost");
  EXPECT_EQ(received(), "");
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(resumes(), 0u);
}

// --- Frames that were lost ---

class ResumeWithTwoPeers : public Resume {
 protected:
  ResumeWithTwoPeers() : Resume({.mode = UpstreamMode::kShared, .is_one_of_two = true}) {}
};

TEST_F(ResumeWithTwoPeers, ARequestThatWasLostIsSentAgain) {
  lose_at_server();
  EXPECT_FALSE(pair_.send(client_, get_call())) << "the client's side has not noticed the loss";
  lose_at_client();
  pair_.pass(50ms);
  EXPECT_EQ(resumes(), 1u);
  EXPECT_EQ(retries(), 1u);
  EXPECT_EQ(served(), get_call()) << "once";
  EXPECT_EQ(answer(), get_reply());
}

TEST_F(ResumeWithTwoPeers, ALinkThatLeavesWaitsForTheRequestsThatAreSentAgain) {
  lose_at_server();
  pair_.send(client_, get_call());
  lose_at_client();
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kGoAway}));
  pair_.reactor().end_iteration();
  EXPECT_THAT(kinds_in(pair_.caller_link()->written), Not(Contains(FrameKind::kGoAway)));
  exchange();
  EXPECT_EQ(served(), get_call()) << "once";
  EXPECT_EQ(answer(), get_reply());
}

TEST_F(ResumeWithTwoPeers, ACallWhoseReplyWasLostFails) {
  begin_call();
  lose_at_client();
  reply();  // on the lane
  EXPECT_THAT(received(), HasSubstr("link_lost: RDMA lane: the lane that carried the stream"));
  EXPECT_EQ(resumes(), 0u);
  EXPECT_EQ(retries(), 0u);
  EXPECT_EQ(served(), "") << "the server has the call already";
  EXPECT_FALSE(client_->closed);
}

TEST_F(ResumeWithTwoPeers, ACallThatTheServerHasIsNotSentAgainIfALaterFrameWasLost) {
  begin_call();
  lose_at_server();
  pair_.send(client_, get_call(17000));  // of which no copy is kept
  lose_at_client();
  const std::string text = received();
  EXPECT_THAT(text, HasSubstr("link_lost"));
  EXPECT_EQ(retries(), 0u);
  EXPECT_EQ(served(), "");
}

TEST_P(ResumeInMode, ARequestThatWasLostIsSentAgainOnTheSameStream) {
  lose_at_server();
  EXPECT_FALSE(pair_.send(client_, get_call())) << "the client's side has not noticed the loss";
  lose_at_client();
  exchange();
  EXPECT_EQ(resumes(), 1u);
  EXPECT_EQ(retries(), 1u);
  EXPECT_EQ(served(), get_call()) << "once";
  EXPECT_EQ(answer(), get_reply());
  expect_that_calls_succeed();
}

TEST_F(Resume, PipelinedRequestsKeepTheirOrderWhenSomeWereLost) {
  begin_call();
  lose_at_server();
  pair_.send(client_, get_call(100));
  pair_.send(client_, get_call(200));
  lose_at_client();
  pair_.send(client_, get_call(300));  // after the loss: it waits for the answer
  exchange();
  EXPECT_EQ(retries(), 2u) << "the server has the first call, and the last was sent once";
  EXPECT_EQ(served(), get_call(100) + get_call(200) + get_call(300));
  for (int i = 0; i < 4; ++i) EXPECT_EQ(answer(), get_reply());
  EXPECT_FALSE(client_->closed);
}

TEST_F(Resume, TheRestOfARequestThatWasLostIsSentAgain) {
  const std::string request = get_call(5000);
  pair_.send(client_, request.substr(0, 2000));
  pair_.pass(50ms);
  lose_at_server();
  pair_.send(client_, request.substr(2000, 1000));
  lose_at_client();
  exchange();
  pair_.send(client_, request.substr(3000));
  exchange();
  EXPECT_EQ(served(), request);
  EXPECT_EQ(retries(), 0u) << "the peer has had the beginning of the call";
  EXPECT_EQ(answer(), get_reply());
}

TEST_F(Resume, TheStreamCanLoseALaneTwice) {
  for (int i = 0; i < 2; ++i) {
    lose_at_server();
    pair_.send(client_, get_call());
    lose_at_client();
    exchange();
    EXPECT_EQ(served(), get_call());
    EXPECT_EQ(answer(), get_reply());
    pair_.pass(50ms);
  }
  EXPECT_EQ(resumes(), 1u) << "the second call was sent over TCP";
  expect_that_calls_succeed();
}

TEST_F(Resume, ARequestWithoutACopyFailsIfItWasLost) {
  lose_at_server();
  EXPECT_FALSE(pair_.send(client_, get_call(17000))) << "limits.retry_request is 16 KiB";
  lose_at_client();
  EXPECT_THAT(received(), HasSubstr("link_lost"));
  EXPECT_EQ(pair_.caller().counters.rdma.frames_not_kept.value() > 0, true);
  EXPECT_EQ(retries(), 0u);
  EXPECT_EQ(served(), "");
}

TEST_F(Resume, ACallWhoseDeadlinePassesDuringTheWaitIsNotSentAgain) {
  lose_at_server();
  pair_.send(client_, get_call());
  pair_.reactor().advance(300ms);
  lose_at_client();
  pair_.reactor().advance(100ms);
  pair_.reactor().end_iteration();
  EXPECT_THAT(std::exchange(client_->written, {}), HasSubstr("deadline_exceeded"));
  exchange();
  EXPECT_EQ(served(), "");
  EXPECT_EQ(retries(), 0u);
}

TEST_F(Resume, AnAnswerThatIsNotPossibleEndsTheStream) {
  begin_call();
  lose_at_client();
  const uint64_t received = 99;
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kResumed, .stream = kStream},
                                     {reinterpret_cast<const char*>(&received), sizeof received}));
  EXPECT_THAT(client_->written, HasSubstr("link_lost: RDMA lane: "));
  EXPECT_EQ(resumes(), 0u);
}

TEST_F(Resume, NoMemoryIsHeldAfterTheAnswers) {
  begin_call();
  EXPECT_GT(pair_.caller().counters.buffered_bytes.value(), 0u);
  EXPECT_EQ(answer(), get_reply());
  EXPECT_EQ(pair_.caller().counters.buffered_bytes.value(), 0u);
}

// The first frames of a stream, and with them the stream itself, were lost.
TEST_F(Resume, TheFirstCallOfAStreamIsSentAgain) {
  const auto second = pair_.connect_client();
  lose_at_server();
  EXPECT_FALSE(pair_.send(second, get_call()));
  lose_at_client();
  pair_.pass(50ms);
  EXPECT_EQ(resumes(), 2u) << "of both clients";
  EXPECT_EQ(retries(), 1u);
  const auto connection = pair_.reactor().wires.back();
  connection->events->on_writable();
  pair_.pass(50ms);
  EXPECT_EQ(connection->written, get_call());
}

// --- Without an answer, or without a question ---

TEST_F(Resume, TheClientsSideGivesUpAfterATime) {
  lose_at_client();
  pair_.send(client_, get_call());
  pair_.reactor().advance(OutboundStream::kResumeWait - 1ms);
  pair_.reactor().end_iteration();
  EXPECT_EQ(kinds_in(pair_.caller_link()->written), std::vector{FrameKind::kResume});
  pair_.reactor().advance(2ms);
  pair_.reactor().end_iteration();
  EXPECT_EQ(kinds_in(pair_.caller_link()->written),
            (std::vector{FrameKind::kResume, FrameKind::kReset}));
  EXPECT_EQ(resumes(), 0u);
  pair_.pass(50ms);
  EXPECT_TRUE(pair_.server_connection()->closed) << "the stream has ended";
  EXPECT_TRUE(client_->shut || client_->closed) << "the server of this client has ended";
}

// The peer's daemon has given up waiting for the question, or is hostile.
TEST_F(Resume, BytesOfAReplyBeforeTheAnswerEndTheStream) {
  begin_call();
  lose_at_client();
  pair_.receive_over_tcp(frame_bytes(
      {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = kStream, .call = 3},
      get_reply()));
  EXPECT_THAT(client_->written, HasSubstr("link_lost: RDMA lane: "));
  EXPECT_THAT(client_->written, Not(HasSubstr(get_reply())));
  EXPECT_EQ(kinds_in(pair_.caller_link()->written),
            (std::vector{FrameKind::kResume, FrameKind::kReset}));
}

TEST_F(Resume, BytesOfAnOpaqueStreamBeforeTheAnswerEndIt) {
  pair_.send(client_, "this is not Thrift");
  pair_.pass(50ms);
  lose_at_client();
  client_->written.clear();
  pair_.receive_over_tcp(
      frame_bytes({.kind = FrameKind::kRaw, .stream = kStream}, "a hole before"));
  EXPECT_EQ(client_->written, "");
  EXPECT_TRUE(client_->aborted) << "a FIN would look like the end of the server's bytes";
}

TEST_F(Resume, TheEndOfAnOpaqueStreamBeforeTheAnswerIsNotPassedOn) {
  pair_.send(client_, "this is not Thrift");
  pair_.pass(50ms);
  lose_at_client();
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kEnd, .stream = kStream}));
  EXPECT_FALSE(client_->shut);
  EXPECT_TRUE(client_->aborted);
}

// The request has arrived, so the server must get it, although its client can get no reply.
TEST_F(Resume, ACallWhoseClientHasEndedReachesTheServerWithoutAQuestion) {
  EXPECT_FALSE(pair_.send(client_, get_call()));
  client_->end = true;
  FakeNode::read(client_);
  pair_.reactor().end_iteration();
  pair_.pass(50ms);
  lose_at_server();
  pair_.reactor().advance(3 * OutboundStream::kResumeWait);
  pair_.reactor().end_iteration();
  EXPECT_EQ(served(), get_call());
  EXPECT_THAT(failures_in(pair_.server_link()->written), testing::IsEmpty());
}

TEST_F(Resume, TheServersSideGivesUpAfterATime) {
  begin_call();
  lose_at_server();
  pair_.reactor().advance(2 * OutboundStream::kResumeWait - 1ms);
  pair_.reactor().end_iteration();
  EXPECT_THAT(failures_in(pair_.server_link()->written), testing::IsEmpty());
  pair_.reactor().advance(2ms);
  pair_.reactor().end_iteration();
  EXPECT_THAT(failures_in(pair_.server_link()->written),
              Contains(ReportedFailure{FrameKind::kReset, 0, engine::Failure::kLinkLost}));
}

TEST_F(Resume, ADeadlinePassesDuringTheWait) {
  begin_call();
  pair_.reactor().advance(300ms);
  lose_at_client();
  pair_.reactor().advance(100ms);
  pair_.reactor().end_iteration();
  EXPECT_THAT(std::exchange(client_->written, {}), HasSubstr("deadline_exceeded"));
  EXPECT_EQ(kinds_in(pair_.caller_link()->written),
            (std::vector{FrameKind::kResume, FrameKind::kCancel}));
  EXPECT_EQ(received(), "") << "no second answer";
  EXPECT_EQ(resumes(), 1u);
}

TEST_F(Resume, TheClientEndsItsSideDuringTheWait) {
  begin_call();
  lose_at_client();
  client_->end = true;
  FakeNode::read(client_);
  pair_.reactor().end_iteration();
  pair_.pass(50ms);
  FakeNode::read(client_);
  pair_.pass(50ms);
  EXPECT_TRUE(pair_.server_connection()->shut) << "the FIN is passed on";
  EXPECT_EQ(answer(), get_reply());
  EXPECT_TRUE(client_->closed);
}

TEST_F(Resume, TheClientsFinIsOnItsWayWhenTheLaneIsLost) {
  begin_call();
  client_->end = true;
  FakeNode::read(client_);
  pair_.reactor().end_iteration();
  pair_.pass(50ms);
  EXPECT_TRUE(pair_.server_connection()->shut);
  lose();
  EXPECT_EQ(answer(), get_reply());
  EXPECT_EQ(resumes(), 1u);
  EXPECT_TRUE(client_->closed);
}

TEST_F(Resume, TheLinkIsLostDuringTheWait) {
  begin_call();
  lose_at_client();
  pair_.caller_link()->error = ECONNRESET;
  pair_.caller_link()->events->on_readable();
  pair_.reactor().end_iteration();
  EXPECT_THAT(client_->written, HasSubstr("link_lost"));
  pair_.reactor().advance(OutboundStream::kResumeWait * 2);
  EXPECT_EQ(resumes(), 0u);
}

// --- Older and hostile peers ---

class ResumeWithOlderServer : public Resume {
 protected:
  ResumeWithOlderServer() : Resume({.link_version = engine::kLinkVersionOfResumes - 1}) {}
};

TEST_F(ResumeWithOlderServer, TheCallFailsAtOnce) {
  begin_call();
  lose_at_client();
  EXPECT_THAT(client_->written, HasSubstr("link_lost: RDMA lane: "));
  EXPECT_EQ(kinds_in(pair_.caller_link()->written), std::vector{FrameKind::kReset});
}

class ResumeWithOlderCaller : public Resume {
 protected:
  ResumeWithOlderCaller() : Resume({.caller_link_version = engine::kLinkVersionOfResumes - 1}) {}
};

TEST_F(ResumeWithOlderCaller, TheStreamEndsAtOnce) {
  begin_call();
  lose_at_server();
  EXPECT_EQ(kinds_in(pair_.server_link()->written), std::vector{FrameKind::kReset});
  EXPECT_TRUE(pair_.server_connection()->closed);
}

TEST_F(Resume, AnUnknownStreamIsReset) {
  pair_.server_receives_over_tcp(
      frame_bytes({.kind = FrameKind::kResume, .stream = 99}, bytes_of({{5, 0}, 4})));
  EXPECT_THAT(
      failures_in(pair_.server_link()->written),
      testing::ElementsAre(ReportedFailure{FrameKind::kReset, 0, engine::Failure::kLinkLost}));
  expect_that_calls_succeed();
}

TEST_F(Resume, AStreamWhoseLaneIsUpIsResetIfThePeersCountsAreWrong) {
  pair_.server_receives_over_tcp(
      frame_bytes({.kind = FrameKind::kResume, .stream = kStream}, bytes_of({{99, 99}, 0})));
  EXPECT_THAT(kinds_in(pair_.server_link()->written), Contains(FrameKind::kReset));
}

TEST_F(Resume, AMalformedQuestionResetsTheStream) {
  lose_at_server();
  pair_.server_receives_over_tcp(
      frame_bytes({.kind = FrameKind::kResume, .stream = kStream}, "short"));
  EXPECT_THAT(kinds_in(pair_.server_link()->written), Contains(FrameKind::kReset));
}

TEST_F(Resume, AnAnswerWithoutAQuestionIsIgnored) {
  pair_.receive_over_tcp(frame_bytes({.kind = FrameKind::kResumed, .stream = kStream}));
  EXPECT_EQ(resumes(), 0u);
  expect_that_calls_succeed();
}

// The peer must not have left the lane without a question: this side cannot know whether the peer
// has received the last frames from the lane.
TEST_F(Resume, ACallOfASuspendedStreamResetsTheStream) {
  lose_at_server();
  pair_.server_receives_over_tcp(frame_bytes({.kind = FrameKind::kCall,
                                              .flags = engine::kLastPiece,
                                              .replies = 1,
                                              .stream = kStream,
                                              .call = 50},
                                             call_meta("get", 1) + get_call()));
  EXPECT_THAT(failures_in(pair_.server_link()->written),
              Contains(ReportedFailure{FrameKind::kReset, 0, engine::Failure::kLinkLost}));
  EXPECT_EQ(served(), "");
}

}  // namespace
}  // namespace hat
