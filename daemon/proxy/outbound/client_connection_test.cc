// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/client_connection.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_node.h"
#include "daemon/proxy/fake_successor.h"

namespace hat {
namespace {

using engine::FrameKind;
using testing::HasSubstr;
using namespace std::string_literals;

// A framed binary call of `get` with sequence id 1.
const std::string kGet("\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00",
                       20);

size_t count_of(std::string_view what, std::string_view text) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(what, at)) != std::string_view::npos; ++at) ++count;
  return count;
}

class ClientConnectionTest : public testing::Test {
 protected:
  ClientConnectionTest() {
    node_.receive(peer_, hello_bytes("host-b", ""));
    client_ = node_.connect_client();
  }
  void answer(FrameKind kind, const std::string& payload, uint8_t flags = 0) {
    node_.receive(peer_,
                  frame_bytes({.kind = kind, .flags = flags, .stream = 1, .call = 1}, payload));
  }

  FakeNode node_;
  FakeNode::Wire peer_ = node_.peer_wire();
  FakeNode::Wire client_;
};

TEST_F(ClientConnectionTest, CarriesACallAndItsReply) {
  peer_->written.clear();
  node_.receive(client_, kGet);
  EXPECT_THAT(peer_->written, HasSubstr("get" + kGet));
  answer(FrameKind::kReply, "the reply", engine::kLastPiece);
  EXPECT_EQ(client_->written, "the reply");
}

// Only the manifest decides which function is oneway: Kv.get is two-way, whatever the message says.
TEST_F(ClientConnectionTest, CarriesTheReplyOfATwoWayFunctionThatTheClientCallsAsOneway) {
  std::string oneway = kGet;
  oneway[7] = '\4';
  node_.receive(client_, oneway + kGet);
  answer(FrameKind::kReply, "the reply", engine::kLastPiece);
  EXPECT_EQ(client_->written, "the reply");
  node_.receive(
      peer_,
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 2},
                  " and the next"));
  EXPECT_EQ(client_->written, "the reply and the next");
}

// A client with Nagle's algorithm sends the rest of a call only after the first part was
// acknowledged, so the daemon acknowledges a part of a call at once.
TEST_F(ClientConnectionTest, AcknowledgesAPartOfACallAtOnce) {
  node_.receive(client_, kGet.substr(0, 4));
  EXPECT_EQ(client_->acknowledged, 1);
  node_.receive(client_, kGet.substr(4, 10));
  EXPECT_EQ(client_->acknowledged, 2);
  node_.receive(client_, kGet.substr(14));
  EXPECT_EQ(client_->acknowledged, 2);
  node_.receive(client_, kGet + kGet);
  EXPECT_EQ(client_->acknowledged, 2) << "whole calls cost no system call more";
}

TEST_F(ClientConnectionTest, AcknowledgesNothingOfItsOwnAccordOnAnOpaqueStream) {
  node_.receive(client_, "\x16\x03\x01 TLS");
  node_.receive(client_, "more");
  EXPECT_EQ(client_->acknowledged, 0);
}

uint64_t opaque_failures(const FakeNode& node, Side side, engine::Failure failure) {
  return node.counters.opaque_failures[static_cast<size_t>(side)][static_cast<size_t>(failure)]
      .value();
}

TEST_F(ClientConnectionTest, CountsWhyAnOpaqueStreamFailed) {
  node_.receive(client_, "\x16\x03\x01 TLS");
  const engine::FailMeta meta{engine::Failure::kUpstreamUnreachable, 0};
  answer(FrameKind::kReset, std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + "why");
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(opaque_failures(node_, Side::kClient, engine::Failure::kUpstreamUnreachable), 1u);
}

TEST_F(ClientConnectionTest, CountsAnOpaqueStreamOfWhichACallHasFailed) {
  node_.receive(client_, "\x16\x03\x01 TLS");
  const engine::FailMeta meta{engine::Failure::kOverloaded, 0};
  answer(FrameKind::kFail, std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + "why");
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(opaque_failures(node_, Side::kClient, engine::Failure::kOverloaded), 1u);
}

TEST_F(ClientConnectionTest, CountsAnOpaqueStreamWhosePeerSendsFarBeyondItsCredit) {
  node_.receive(client_, "\x16\x03\x01 TLS");
  client_->space = 0;
  for (int i = 0; !client_->closed && i < 100; ++i) {
    answer(FrameKind::kRaw, std::string(64'000, 'x'));
  }
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(opaque_failures(node_, Side::kClient, engine::Failure::kUpstreamClosed), 1u);
}

TEST_F(ClientConnectionTest, AnswersACallThatFailedForAReasonOfANewerPeer) {
  node_.receive(client_, kGet);
  answer(FrameKind::kFail, std::string("\xff\x01why", 5));
  EXPECT_THAT(client_->written, HasSubstr("upstream_closed: why"));
}

// The daemon logs the peer's text, and clients print it on terminals, so the daemon replaces
// control characters and limits the length.
TEST_F(ClientConnectionTest, AnswersWithTheReasonOfAPeerAsPrintableText) {
  node_.receive(client_, kGet);
  const engine::FailMeta meta{engine::Failure::kOverloaded, 0};
  answer(FrameKind::kFail, std::string(reinterpret_cast<const char*>(&meta), sizeof meta) +
                               "why\nE1123 forged\x1b[2J" + std::string(5000, 'x'));
  EXPECT_THAT(client_->written, HasSubstr("overloaded: why?E1123 forged?[2Jxxx"));
  EXPECT_LT(client_->written.size(), 1500u);
}

TEST_F(ClientConnectionTest, CountsAnOpaqueStreamThatEndsWithItsLink) {
  node_.receive(client_, "\x16\x03\x01 TLS");
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(opaque_failures(node_, Side::kClient, engine::Failure::kLinkLost), 1u);
}

TEST_F(ClientConnectionTest, CountsAnOpaqueStreamForWhichThereIsNoLink) {
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  node_.receive(client_, "\x16\x03\x01 TLS");
  node_.reactor.advance(std::chrono::seconds(2));
  EXPECT_TRUE(client_->aborted);
  EXPECT_EQ(opaque_failures(node_, Side::kClient, engine::Failure::kPeerUnreachable), 1u);
}

TEST_F(ClientConnectionTest, EndsWhereThePeerSendsFarBeyondItsCredit) {
  const std::string piece(64'000, 'x');
  node_.receive(client_, kGet);
  client_->space = 0;
  answer(FrameKind::kReply, piece);
  size_t sent = piece.size();
  for (int i = 0; !client_->closed && i < 100; ++i) {
    answer(FrameKind::kMore, piece);
    sent += piece.size();
    node_.reactor.end_iteration();
  }
  EXPECT_TRUE(client_->closed);
  EXPECT_TRUE(client_->aborted) << "a cut reply must not look like its end";
  EXPECT_GT(sent, engine::kStreamWindowBytes);
  EXPECT_LE(sent, engine::ReceiveWindow::kOutstandingBytesMax + piece.size());
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// The daemon holds back all bytes of a Thrift frame without a message until its last byte arrives.
// It must then cut these bytes into several frames, if one frame on the link cannot carry them.
TEST_F(ClientConnectionTest, CutsALongUnitWithoutAMessageIntoFrames) {
  const std::string unit = theader_without_message(100'000 + 14);
  peer_->written.clear();
  node_.receive(client_, unit.substr(0, 60'000));
  node_.receive(client_, unit.substr(60'000));
  size_t bytes = 0;
  for (const engine::FrameHeader& header : headers_in(peer_->written)) {
    EXPECT_EQ(engine::invalid(header), nullptr);
    bytes += header.kind == FrameKind::kOpen ? 0 : header.payload_bytes;
  }
  EXPECT_EQ(bytes, unit.size() + sizeof(engine::CallMeta));
  EXPECT_NE(headers_in(peer_->written).back().flags & engine::kLastPiece, 0);
}

TEST_F(ClientConnectionTest, StaysWithALinkThatIsGoingAwayForAnEmptyFrame) {
  node_.receive(client_, kGet);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kGoAway}));
  node_.receive(client_, std::string(4, '\0'));
  answer(FrameKind::kReply, "the reply", engine::kLastPiece);
  EXPECT_EQ(client_->written, "the reply");
}

TEST_F(ClientConnectionTest, GoesOnAfterALinkWasLostWithAllOfItsCredit) {
  const std::string half(engine::kStreamWindowBytes, 'x');
  const std::string head(
      "\x00\x10\x00\x00\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x0b\x00\x01"
      "\x00\x0f\x00\x00",
      26);
  node_.receive(client_, head + half);
  EXPECT_FALSE(client_->reading) << "the credit is used up";
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  EXPECT_THAT(client_->written, HasSubstr("link_lost"));
  node_.receive(client_, std::string(0x100000 - (head.size() - 4) - half.size(), 'x'));
  node_.reactor.advance(std::chrono::seconds(1));
  const auto next = node_.reactor.wires.back();
  node_.receive(next, hello_bytes("host-b", ""));
  node_.receive(client_, kGet);
  EXPECT_THAT(next->written, HasSubstr("get" + kGet));
}

TEST_F(ClientConnectionTest, ReadsNoMoreCallsFromWhoReadsNoExceptions) {
  node_.worker->begin_drain();
  client_->space = 0;
  constexpr int kCalls = 100'000;
  for (int i = 0; i < kCalls; ++i) client_->incoming += kGet;
  node_.receive(client_, "");
  EXPECT_LT(node_.counters.buffered_bytes.value(), 2 * engine::kStreamWindowBytes);
  EXPECT_GT(client_->incoming.size(), 0u);
  client_->space = SIZE_MAX;
  while (!client_->incoming.empty()) {
    const size_t before = client_->incoming.size();
    if (client_->writing) client_->events->on_writable();
    node_.receive(client_, "");
    ASSERT_LT(client_->incoming.size(), before) << "it does not go on";
  }
  EXPECT_EQ(count_of("draining", client_->written), kCalls);
}

TEST_F(ClientConnectionTest, AnswersEveryCallBeforeAHalfCloseThoughNoneIsCarried) {
  node_.receive(client_, kGet);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kGoAway}));
  answer(FrameKind::kReply, "", engine::kLastPiece);
  client_->end = true;
  node_.receive(client_, kGet + kGet + kGet);  // no link can carry new calls now
  node_.worker->begin_drain();
  node_.reactor.advance(std::chrono::minutes(1));
  EXPECT_EQ(count_of("hatrpcd: ", client_->written), 3u);
  FakeNode::read(client_);
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->closed);
}

// Returns one Thrift frame with `count` strict binary calls of `get`.
std::string gets_in_one_frame(uint32_t count) {
  const std::string body = kGet.substr(4);
  const auto size = static_cast<uint32_t>(body.size()) * count;
  std::string frame{static_cast<char>(size >> 24), static_cast<char>(size >> 16),
                    static_cast<char>(size >> 8), static_cast<char>(size)};
  for (uint32_t i = 0; i < count; ++i) frame += body;
  return frame;
}

TEST_F(ClientConnectionTest, CountsWhatItKeepsOfAFramesManyMessages) {
  node_.receive(client_, gets_in_one_frame(100));
  EXPECT_EQ(headers_in(peer_->written).back().replies, 100);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 99 * sizeof(KeptHead));
  answer(FrameKind::kReply, "", engine::kLastPiece);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// The three messages came in one Thrift frame, and one Call object stands for all three. The failed
// write of the first answer closes the connection and deletes this object, so the other two answers
// must not be written.
TEST_F(ClientConnectionTest, EndsWhereTheAnswersToAFramesManyMessagesCannotBeWritten) {
  node_.receive(client_, gets_in_one_frame(3));
  client_->write_error = EPIPE;
  answer(FrameKind::kReset, "");
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(
      node_.counters.local_replies[static_cast<size_t>(engine::Failure::kUpstreamClosed)].value(),
      1u);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

TEST_F(ClientConnectionTest, ClosesWhereAFrameHoldsMoreMessagesThanAnyClientSends) {
  node_.receive(client_, gets_in_one_frame(1000));
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// The peer replies to call 1 a second time. This reply must answer neither call 2 nor the call that
// failed before it was sent.
TEST_F(ClientConnectionTest, GivesNoAnswerToACallThatWasNeverSent) {
  node_.receive(client_, kGet);
  answer(FrameKind::kReply, "first", engine::kLastPiece);
  node_.receive(client_, kGet);  // call 2, unanswered
  const std::string too_large =
      "\x3f\xff\xff\xff\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01"s;
  node_.receive(client_, too_large);
  answer(FrameKind::kReply, "stale", engine::kLastPiece);  // call 1 again
  EXPECT_EQ(client_->written, "first");
  node_.receive(
      peer_,
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 2},
                  "second"));
  EXPECT_THAT(client_->written, testing::StartsWith("firstsecond"));
  EXPECT_THAT(client_->written, HasSubstr("limits.max_message"));
}

// The call waits for a link. The link that comes up is congested, and breaks before any part of the
// call is sent, so the call must use the next link.
TEST_F(ClientConnectionTest, SendsACallByTheNextLinkWhereItsFirstBrokeBeforeItWasSent) {
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  std::vector<FakeNode::Wire> others;
  const std::string large = std::string("\x00\x03\x00\x00", 4) + kGet.substr(4) +
                            std::string(0x30000 - (kGet.size() - 4), 'x');
  for (int i = 0; i < 20; ++i) {
    others.push_back(node_.connect_client());
    node_.receive(others.back(), large);
  }
  node_.receive(client_, kGet);
  node_.reactor.advance(std::chrono::milliseconds(200));
  const auto full = node_.reactor.wires.back();
  full->space = 0;
  node_.receive(full, hello_bytes("host-b", ""));
  full->end = true;
  FakeNode::read(full);
  node_.reactor.end_iteration();
  node_.reactor.advance(std::chrono::milliseconds(200));
  const auto next = node_.reactor.wires.back();
  ASSERT_NE(next, full);
  node_.receive(next, hello_bytes("host-b", ""));
  EXPECT_EQ(client_->written, "") << "it was not sent, and so is not lost";
  node_.receive(
      next,
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "the reply"));
  EXPECT_EQ(client_->written, "the reply");
}

TEST(ClientConnection, ReadsARequestToItsEndThoughNoOtherMayBegin) {
  Limits limits = default_limits();
  limits.calls_per_connection_max = 1;
  FakeNode node(limits);
  node.receive(node.peer_wire(), hello_bytes("host-b", ""));
  const auto client = node.connect_client();
  node.receive(client, kGet.substr(0, 19));
  node.receive(client, kGet.substr(19) + kGet);
  EXPECT_EQ(count_of("get", node.peer_wire()->written), 2u) << "in the frame, and in the message";
  node.receive(
      node.peer_wire(),
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                  "the reply"));
  EXPECT_EQ(client->written, "the reply");
  EXPECT_EQ(count_of("get", node.peer_wire()->written), 4u);
}

// --- To a successor ---

class HandOverTest : public ClientConnectionTest {
 protected:
  HandOverTest() { client_->descriptors = {7}; }
  void begin() {
    node_.worker->begin_hand_over(successor_);
    node_.reactor.end_iteration();
    node_.reactor.end_iteration();  // deletes the connection that went to the successor
  }
  void answer_call(uint64_t call, const std::string& payload) {
    node_.receive(
        peer_,
        frame_bytes(
            {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = call},
            payload));
    node_.reactor.end_iteration();
  }

  std::shared_ptr<FakeSuccessor> successor_ = std::make_shared<FakeSuccessor>();
};

TEST_F(HandOverTest, GivesAnIdleConnectionAtOnceAndTellsThePeer) {
  node_.receive(client_, kGet);
  answer_call(1, "the reply");
  peer_->written.clear();
  begin();
  EXPECT_EQ(successor_->taken, std::vector<int>{7});
  EXPECT_EQ(successor_->bytes, "");
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->shut || client_->aborted) << "its application must see nothing";
  ASSERT_FALSE(headers_in(peer_->written).empty());
  EXPECT_EQ(headers_in(peer_->written).back().kind, FrameKind::kEnd);
  EXPECT_EQ(node_.counters.connections_open.value(), 0u);
  EXPECT_EQ(node_.counters.connections_handed_over.value(), 1u);
  EXPECT_TRUE(node_.worker->handed_over());
}

TEST_F(HandOverTest, GivesABusyConnectionAfterItsReplyWithWhatCameOfTheNextCalls) {
  node_.receive(client_, kGet);
  begin();
  EXPECT_FALSE(client_->closed);
  node_.receive(client_, kGet + kGet.substr(0, 9));
  EXPECT_EQ(count_of("get", peer_->written), 2u) << "the next call is the successor's";
  EXPECT_FALSE(node_.worker->handed_over());
  answer_call(1, "the reply");
  EXPECT_EQ(client_->written, "the reply");
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(successor_->bytes, kGet + kGet.substr(0, 9));
}

TEST_F(HandOverTest, ReadsARequestToItsEndFirst) {
  node_.receive(client_, kGet.substr(0, 19));
  begin();
  node_.receive(client_, kGet.substr(19) + kGet);
  EXPECT_EQ(count_of("get", peer_->written), 2u);
  answer_call(1, "the reply");
  EXPECT_EQ(successor_->bytes, kGet);
}

TEST_F(HandOverTest, GivesWhatItHeldBackOfARequest) {
  node_.receive(client_, kGet.substr(0, 3));
  begin();
  EXPECT_EQ(successor_->bytes, kGet.substr(0, 3));
  EXPECT_TRUE(client_->closed);
}

TEST_F(HandOverTest, WaitsForASlowReader) {
  node_.receive(client_, kGet);
  client_->space = 3;
  answer_call(1, "the reply");
  begin();
  EXPECT_FALSE(client_->closed);
  client_->space = SIZE_MAX;
  client_->events->on_writable();
  node_.reactor.end_iteration();
  node_.reactor.end_iteration();
  EXPECT_EQ(client_->written, "the reply");
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(successor_->taken.size(), 1u);
}

TEST_F(HandOverTest, AsksWhetherAOnewayCallHasComeFirst) {
  std::string note = kGet;
  note[7] = 4;                 // oneway
  note.replace(12, 3, "say");  // a function that no manifest lists
  node_.receive(client_, note);
  begin();
  EXPECT_FALSE(client_->closed);
  node_.reactor.end_iteration();
  const auto last = headers_in(peer_->written).back();
  ASSERT_EQ(last.kind, FrameKind::kSync);
  node_.receive(peer_, frame_bytes({.kind = FrameKind::kSynced, .stream = 1, .call = last.call}));
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->closed);
  EXPECT_EQ(successor_->taken.size(), 1u);
}

TEST_F(HandOverTest, TriesAgainWhenThereIsRoom) {
  successor_->answer = Successor::Answer::kLater;
  begin();
  EXPECT_FALSE(client_->closed);
  successor_->answer = Successor::Answer::kTaken;
  node_.reactor.advance(std::chrono::milliseconds(10));
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->closed);
}

TEST_F(HandOverTest, ServesWhatTheSuccessorCannotHave) {
  struct Case {
    const char* what;
    void (*make)(FakeSuccessor&, FakeStream::Wire&);
  };
  const std::vector<Case> cases = {
      {"its endpoint", [](FakeSuccessor& to, auto&) { to.wanted = false; }},
      {"its bytes", [](FakeSuccessor& to, auto&) { to.answer = Successor::Answer::kNever; }},
      {"its descriptors", [](auto&, FakeStream::Wire& wire) { wire.descriptors.clear(); }},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    FakeNode node;
    node.receive(node.peer_wire(), hello_bytes("host-b", ""));
    const auto client = node.connect_client();
    client->descriptors = {7};
    const auto successor = std::make_shared<FakeSuccessor>();
    one.make(*successor, *client);
    node.receive(client, kGet);
    node.worker->begin_hand_over(successor);
    node.reactor.end_iteration();
    node.receive(
        node.peer_wire(),
        frame_bytes(
            {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1},
            "first"));
    node.reactor.end_iteration();
    EXPECT_FALSE(client->closed);
    EXPECT_EQ(client->written, "first");
    // Without descriptors the connection cannot be handed over now, and waits.
    if (client->descriptors.empty()) continue;
    node.receive(client, kGet);
    EXPECT_EQ(count_of("get", node.peer_wire()->written), 4u);
  }
}

TEST_F(HandOverTest, GoesOnWithAllThatIsLeftWhenTheSuccessorIsGone) {
  node_.receive(client_, kGet);
  begin();
  node_.receive(client_, kGet + kGet.substr(0, 5));
  node_.worker->end_hand_over();
  node_.receive(client_, kGet.substr(5));
  EXPECT_EQ(count_of("get", peer_->written), 6u) << "three calls, in the frame and in the message";
  answer_call(1, "first");
  EXPECT_FALSE(client_->closed);
}

TEST_F(HandOverTest, FinishesWhoHasSentHisLast) {
  node_.receive(client_, kGet);
  begin();
  client_->end = true;
  FakeNode::read(client_);
  answer_call(1, "the reply");
  EXPECT_EQ(client_->written, "the reply");
  EXPECT_TRUE(client_->closed);
  EXPECT_TRUE(successor_->taken.empty());
}

TEST_F(ClientConnectionTest, TakesOverAConnectionInTheMiddleOfARequest) {
  const std::string whole = kGet + kGet;
  node_.worker->take_over_client(
      0,
      [&](StreamEvents& events) {
        return node_.reactor.connect(*parse_address("tcp:127.0.0.1:1"), events);
      },
      std::as_bytes(std::span(whole)).first(30), nullptr);
  const auto taken = node_.reactor.wires.back();
  EXPECT_TRUE(taken->reading);
  node_.receive(taken, whole.substr(30));
  EXPECT_EQ(count_of("get", peer_->written), 4u);
  answer(FrameKind::kReply, "the reply", engine::kLastPiece);
  EXPECT_EQ(taken->written, "the reply");
  EXPECT_EQ(node_.counters.connections_taken_over.value(), 1u);
  EXPECT_EQ(node_.counters.connections_open.value(), 2u);
}

}  // namespace
}  // namespace hat
