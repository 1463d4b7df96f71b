// SPDX-License-Identifier: Apache-2.0
// engine/link/calibration_session_test.cc: tests calibration sessions: the order of their frames,
// refusals, and how they end.
#include "engine/link/calibration_session.h"

#include <gmock/gmock.h>

#include <deque>
#include <thread>

#include "tests/fake_reactor.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

TEST(CostMessages, ReadWhatTheyWriteAndNothingElse) {
  const CostOpen open{"loop x", {.address = 5, .bytes = 6, .rkey = 7, .message_bytes_max = 8}};
  const auto bytes = encode(open);
  const auto back = decode_cost_open(bytes);
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(back->reach, "loop x");
  EXPECT_EQ(back->card.rkey, 7u);
  EXPECT_EQ(back->card.bytes, 6u);
  const auto card = encode(open.card);
  EXPECT_EQ(decode_cost_card(card)->message_bytes_max, 8u);
  for (size_t size = 0; size < card.size(); ++size) {
    EXPECT_FALSE(decode_cost_card(Bytes(bytes).first(size))) << size;
    EXPECT_FALSE(decode_cost_open(Bytes(bytes).first(size))) << size;
  }
  EXPECT_FALSE(decode_cost_card(bytes)) << "longer than a card";
  EXPECT_FALSE(decode_cost_open(encode(CostOpen{std::string(256, 'x'), {}})));
}

// Returns why the job was stopped; an empty text if the job runs or ended as it should.
std::string stop_text(const CalibrationJob& job) {
  const auto error = job.stop_error();
  return error ? error->message : "";
}

TEST(CostJobs, WaitForACardOrForTheEnd) {
  CalibrationJob job;
  EXPECT_EQ(job.await_card(1ms).error().message, "the peer does not answer");
  std::thread other([&] { job.offer({.rkey = 3}); });
  const auto card = job.await_card(60s);
  other.join();
  ASSERT_TRUE(card);
  EXPECT_EQ(card->rkey, 3u);
  EXPECT_FALSE(job.stop_token().stop_requested());
  job.stop(fail(ErrorCode::kClosed, "first"));
  job.stop(fail(ErrorCode::kClosed, "second"));
  EXPECT_TRUE(job.stop_token().stop_requested());
  EXPECT_EQ(stop_text(job), "first");
  EXPECT_EQ(job.await_card(60s).error().message, "first");
}

// The TCP connection of one side of a link: frames that this side sends are stored until the test
// passes them to the other side.
struct CostWire final : Lane {
  uint64_t send(FrameHeader header, std::initializer_list<Bytes> pieces) override {
    std::vector<std::byte> payload;
    for (const Bytes piece : pieces) payload.insert(payload.end(), piece.begin(), piece.end());
    sent.emplace_back(header, std::move(payload));
    return ++count;
  }
  Fate fate(uint64_t) const override { return Fate::kUnknown; }
  bool congested() const override { return false; }
  bool broken() const override { return false; }
  bool idle() const override { return sent.empty(); }
  void flush() override {}
  std::deque<std::pair<FrameHeader, std::vector<std::byte>>> sent;
  uint64_t count = 0;
};

class CalibrationSessions : public testing::Test, public CostAnswerer {
 protected:
  Result<std::shared_ptr<CalibrationJob>> answer(const CostOpen& open) override {
    if (!refusal_.empty()) return fail(ErrorCode::kBusy, refusal_);
    asked_ = open;
    return answering_;
  }
  void hand_over() {
    while (!from_a_.sent.empty() || !from_b_.sent.empty()) {
      for (const auto& [from, to] : {std::pair(&from_a_, &b_), {&from_b_, &a_}}) {
        if (from->sent.empty()) continue;
        const auto [header, payload] = std::move(from->sent.front());
        from->sent.pop_front();
        ASSERT_EQ(invalid({.payload_bytes = static_cast<uint32_t>(payload.size()),
                           .kind = header.kind,
                           .stream = header.stream}),
                  nullptr);
        to->on_cost_frame(header, payload);
      }
    }
  }
  void pass_time(Duration by = CalibrationSession::kPollInterval) {
    reactor_.advance(by);
    hand_over();
  }

  FakeReactor reactor_;
  CostWire from_a_;
  CostWire from_b_;
  std::string refusal_;
  CostOpen asked_;
  std::shared_ptr<CalibrationJob> measuring_ = std::make_shared<CalibrationJob>();
  std::shared_ptr<CalibrationJob> answering_ = std::make_shared<CalibrationJob>();
  CalibrationSession a_{reactor_, from_a_, nullptr};
  CalibrationSession b_{reactor_, from_b_, this};
};

TEST_F(CalibrationSessions, CardsGoToAndFroAndTheEndIsTold) {
  ASSERT_TRUE(a_.open({"loop x", {.rkey = 1}}, measuring_));
  hand_over();
  EXPECT_EQ(asked_.reach, "loop x");
  EXPECT_EQ(asked_.card.rkey, 1u);
  pass_time();
  EXPECT_FALSE(measuring_->card()) << "the answering side has not said so";
  answering_->offer({.rkey = 2});
  pass_time();
  ASSERT_TRUE(measuring_->card());
  EXPECT_EQ(measuring_->card()->rkey, 2u);
  EXPECT_FALSE(a_.open({}, std::make_shared<CalibrationJob>())) << "one at a time";
  measuring_->finish({});
  pass_time();
  EXPECT_TRUE(answering_->stop_token().stop_requested());
  EXPECT_EQ(stop_text(*answering_), "");

  const auto next = std::make_shared<CalibrationJob>();
  answering_ = std::make_shared<CalibrationJob>();
  ASSERT_TRUE(a_.open({"loop y", {}}, next)) << "and then another";
  answering_->offer({.rkey = 3});
  hand_over();
  pass_time();
  EXPECT_TRUE(next->card());
}

TEST_F(CalibrationSessions, WhoCannotAnswerSaysWhy) {
  refusal_ = "another calibration is in progress\n";
  ASSERT_TRUE(a_.open({"loop x", {}}, measuring_));
  hand_over();
  EXPECT_EQ(stop_text(*measuring_), "the peer: another calibration is in progress?");
  refusal_.clear();
  const auto second = std::make_shared<CalibrationJob>();
  ASSERT_TRUE(a_.open({"loop x", {}}, second));
  hand_over();
  answering_->finish(fail(ErrorCode::kUnsupported, "the fabrics do not reach each other"));
  pass_time();
  EXPECT_EQ(stop_text(*second), "the peer: the fabrics do not reach each other");
  EXPECT_EQ(stop_text(*answering_), "the fabrics do not reach each other");
}

TEST_F(CalibrationSessions, TheEndOfTheLinkStopsBothSides) {
  ASSERT_TRUE(a_.open({"loop x", {}}, measuring_));
  hand_over();
  a_.end("the link went down: it was cut");
  b_.end("the link went down: it was cut");
  EXPECT_EQ(stop_text(*measuring_), "the link went down: it was cut");
  EXPECT_EQ(stop_text(*answering_), "the link went down: it was cut");
  pass_time();
  EXPECT_EQ(from_a_.count, 1u) << "nothing is said on a link that is down";
  const auto last = std::make_shared<CalibrationJob>();
  { ASSERT_TRUE(CalibrationSession(reactor_, from_a_, nullptr).open({}, last)); }
  EXPECT_EQ(stop_text(*last), "the link has ended");
}

TEST_F(CalibrationSessions, LateAndWrongFramesHarmNothing) {
  const std::vector<std::byte> nothing;
  b_.on_cost_frame({.kind = FrameKind::kCostAccept, .stream = 1}, nothing);
  b_.on_cost_frame({.kind = FrameKind::kCostClose, .stream = 1}, nothing);
  EXPECT_EQ(from_b_.count, 0u);
  b_.on_cost_frame({.kind = FrameKind::kCostOpen, .stream = 1}, nothing);
  EXPECT_EQ(from_b_.sent.back().first.kind, FrameKind::kCostClose);
  a_.on_cost_frame({.kind = FrameKind::kCostOpen, .stream = 1}, encode(CostOpen{"loop x", {}}));
  EXPECT_EQ(from_a_.sent.back().first.kind, FrameKind::kCostClose) << "a side that only measures";
  from_a_.sent.clear();
  from_b_.sent.clear();

  ASSERT_TRUE(a_.open({"loop x", {}}, measuring_));
  hand_over();
  a_.on_cost_frame({.kind = FrameKind::kCostClose, .stream = 77}, nothing);
  EXPECT_FALSE(measuring_->stop_token().stop_requested()) << "of another talk";
  b_.on_cost_frame({.kind = FrameKind::kCostOpen, .stream = 2}, encode(CostOpen{"loop x", {}}));
  EXPECT_EQ(from_b_.sent.back().first.stream, 2u);
  EXPECT_FALSE(answering_->stop_token().stop_requested()) << "the first goes on";
  from_b_.sent.clear();
  a_.on_cost_frame({.kind = FrameKind::kCostAccept, .stream = 1}, nothing);
  EXPECT_THAT(stop_text(*measuring_), HasSubstr("it has the wrong length"));
}

TEST_F(CalibrationSessions, OneThatTakesTooLongIsStopped) {
  ASSERT_TRUE(a_.open({"loop x", {}}, measuring_));
  hand_over();
  for (Duration passed{}; passed < CalibrationSession::kLongest + 1s; passed += 100ms)
    pass_time(100ms);
  EXPECT_THAT(stop_text(*measuring_), HasSubstr("too long"));
  EXPECT_THAT(stop_text(*answering_), HasSubstr("too long"));
}

}  // namespace
}  // namespace hat::engine
