// SPDX-License-Identifier: Apache-2.0
#include "engine/link/link.h"

#include <gmock/gmock.h>

#include "engine/fake_member.h"
#include "tests/fake_reactor.h"

namespace hat::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string frame(FrameKind kind, const std::string& payload = "", uint32_t stream = 0) {
  const FrameHeader header{
      .payload_bytes = static_cast<uint32_t>(payload.size()), .kind = kind, .stream = stream};
  return std::string(reinterpret_cast<const char*>(&header), sizeof header) + payload;
}

std::string hello_of(const std::string& node) {
  const auto bytes = encode({1, 1, 42, 0, node, ""});
  return frame(FrameKind::kHello, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

struct Log final : LinkEvents {
  void on_link_up(Link&) override { lines.push_back("up"); }
  void on_link_frame(Link&, const FrameHeader& header, Bytes payload) override {
    lines.push_back("frame " + std::to_string(static_cast<int>(header.kind)) + " " +
                    std::to_string(payload.size()));
  }
  void on_link_going_away(Link& link) override { link.agree_to_go_away(); }
  void on_link_down(Link&, bool was_up, const std::string& reason) override {
    lines.push_back((was_up ? "down: " : "failed: ") + reason);
  }
  void defer_delete(std::unique_ptr<Session> session) override {
    deferred.push_back(std::move(session));
  }
  std::vector<std::string> lines;
  std::vector<std::unique_ptr<Session>> deferred;
};

class LinkTest : public testing::Test {
 protected:
  LinkTest() {
    link_.connect_now();
    link_.flush();
  }
  FakeStream::Wire& wire() { return *reactor_.wires.back(); }
  void receive(const std::string& bytes) {
    wire().incoming += bytes;
    wire().notify_readable();
    link_.flush();
  }
  void advance(Duration by) {  // like a worker, flushes after each event-loop iteration
    for (Duration passed{}; passed < by; passed += 10ms) {
      reactor_.advance(10ms);
      link_.flush();
    }
  }
  void congest() {
    wire().space = 0;
    const std::vector<std::byte> piece(kPieceBytesMax);
    while (!link_.lane().congested()) {
      link_.lane().send({.kind = FrameKind::kRaw, .stream = 1}, {piece});
    }
    link_.flush();
  }

  static inline const SessionOptions kOptions = {.node = "host-a",
                                                 .peer = "host-b",
                                                 .generation = 1,
                                                 .handshake_timeout = 1s,
                                                 .keepalive_interval = 1s,
                                                 .keepalive_timeout = 3s};

  FakeReactor reactor_;
  Log log_;
  Link link_{reactor_, *parse_address("tcp:127.0.0.1:9465"), kOptions, 1s, 7, log_};
};

TEST_F(LinkTest, IsUpOnceThePeerSaysItsName) {
  EXPECT_THAT(wire().written, HasSubstr("host-ahost-b"));
  EXPECT_FALSE(link_.up());
  const std::string hello = hello_of("host-b");
  receive(hello.substr(0, 5));
  EXPECT_FALSE(link_.up());
  receive(hello.substr(5));
  EXPECT_TRUE(link_.takes_calls());
  EXPECT_THAT(log_.lines, ElementsAre("up"));
}

TEST_F(LinkTest, IsIdleUntilItIsNeeded) {
  Link link(reactor_, *parse_address("tcp:127.0.0.1:9465"), kOptions, 1s, 7, log_);
  EXPECT_EQ(link.state(), LinkState::kIdle);
  reactor_.advance(1h);
  EXPECT_EQ(link.state(), LinkState::kIdle);
  link.connect_now();
  EXPECT_EQ(link.state(), LinkState::kConnecting);
  EXPECT_THAT(link.last_error(), HasSubstr("first attempt"));
  wire().error = ECONNREFUSED;
  wire().notify_readable();
  EXPECT_EQ(link.state(), LinkState::kDown);
  reactor_.advance(20ms);
  EXPECT_EQ(link.state(), LinkState::kDown) << "while it tries again";
  receive(hello_of("host-b"));
  EXPECT_EQ(link.state(), LinkState::kUp);
  EXPECT_EQ(link.last_error(), "");
}

TEST_F(LinkTest, RefusesAnotherNodeAtTheAddress) {
  receive(hello_of("host-c"));
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("failed: this address is node 'host-c'")));
  EXPECT_FALSE(link_.up());
}

TEST_F(LinkTest, TakesAnyNodeForAPeerThatIsNotANode) {
  SessionOptions options = kOptions;
  options.peer_is_node = false;
  Link link(reactor_, *parse_address("tcp:127.0.0.1:9465"), options, 1s, 7, log_);
  link.connect_now();
  link.flush();
  const auto& wire = *reactor_.wires.back();
  EXPECT_THAT(wire.written, HasSubstr("host-a"));
  EXPECT_THAT(wire.written, Not(HasSubstr("host-b")));
  reactor_.wires.back()->incoming = hello_of("host-c");
  reactor_.wires.back()->events->on_readable();
  EXPECT_TRUE(link.takes_calls());
  EXPECT_EQ(link.peer(), "host-b");
}

TEST_F(LinkTest, ReportsWhyThePeerRefused) {
  receive(frame(FrameKind::kRefuse, "this is node 'host-x', not 'host-b'"));
  EXPECT_THAT(link_.last_error(), HasSubstr("this is node 'host-x'"));
}

TEST_F(LinkTest, ShowsThePeersReasonAsPrintableText) {
  receive(frame(FrameKind::kRefuse, "no\nI1123 peer host-b: link up\x1b[2J"));
  EXPECT_THAT(link_.last_error(), HasSubstr("the peer refused: no?I1123 peer host-b: link up?[2J"));
}

TEST_F(LinkTest, TakesNoNodesNameThatIsNone) {
  receive(hello_of("host\x1b[2J"));
  EXPECT_THAT(link_.last_error(), HasSubstr("characters that a node's name may not have"));
}

TEST_F(LinkTest, TakesABurstInTwoHalvesWithALookBetween) {
  receive(hello_of("host-b"));
  wire().written.clear();
  for (int i = 0; i < 8; ++i) wire().incoming += frame(FrameKind::kPing);
  wire().events->on_readable();
  link_.flush();
  EXPECT_EQ(wire().written.size(), 4 * sizeof(FrameHeader));  // one kPong for each kPing
  EXPECT_TRUE(wire().again);
  wire().notify_readable();
  link_.flush();
  EXPECT_EQ(wire().written.size(), 8 * sizeof(FrameHeader));
  EXPECT_FALSE(wire().again);
}

TEST_F(LinkTest, TriesAgainWithBackoffAndAtOnceForACall) {
  receive(frame(FrameKind::kRefuse, "no"));
  EXPECT_EQ(reactor_.wires.size(), 1u);
  advance(20ms);
  EXPECT_EQ(reactor_.wires.size(), 2u);
  for (int i = 0; i < 10; ++i) {  // each failure doubles the backoff time, up to the maximum
    wire().error = ECONNREFUSED;
    wire().notify_readable();
    advance(2s);
  }
  const size_t before = reactor_.wires.size();
  wire().error = ECONNREFUSED;
  wire().notify_readable();
  advance(100ms);
  EXPECT_EQ(reactor_.wires.size(), before);
  link_.connect_now();
  EXPECT_EQ(reactor_.wires.size(), before + 1);
}

TEST_F(LinkTest, PingsAQuietPeerAndGivesUpASilentOne) {
  receive(hello_of("host-b"));
  wire().written.clear();
  advance(1500ms);
  EXPECT_THAT(wire().written, HasSubstr(frame(FrameKind::kPing)));
  receive(frame(FrameKind::kPong));
  advance(2500ms);
  EXPECT_TRUE(link_.up());
  advance(1s);
  EXPECT_THAT(log_.lines, ElementsAre("up", HasSubstr("down: the peer sent nothing")));
}

// Nobody else wakes the thread, so the timer's events are those that advance() runs.
TEST_F(LinkTest, AQuietLinkCostsOneEventInEachInterval) {
  receive(hello_of("host-b"));
  wire().written.clear();
  int pings = 0;
  for (int i = 0; i < 1000; ++i) {  // 10 s
    advance(10ms);
    if (wire().written.empty()) continue;
    EXPECT_EQ(std::exchange(wire().written, ""), frame(FrameKind::kPing));
    ++pings;
    receive(frame(FrameKind::kPong));
  }
  EXPECT_EQ(pings, 10);
  EXPECT_EQ(reactor_.timers_run(), 10u);
  EXPECT_TRUE(link_.up());
}

TEST_F(LinkTest, ALinkWithoutStreamsPingsRarely) {
  receive(hello_of("host-b"));
  link_.session().set_carries_streams(false);
  wire().written.clear();
  std::vector<int> pings;  // in tenths of a second
  for (int i = 1; i <= 450; ++i) {
    advance(100ms);
    if (wire().written.empty()) continue;
    EXPECT_EQ(std::exchange(wire().written, ""), frame(FrameKind::kPing));
    pings.push_back(i);
    receive(frame(FrameKind::kPong));
  }
  EXPECT_THAT(pings,
              ElementsAre(testing::Ge(100), testing::Ge(200), testing::Ge(300), testing::Ge(400)));
  advance(6s);  // the last answer came about 40 s after the begin, and 5 s before this
  EXPECT_TRUE(link_.up());
  advance(2s);
  EXPECT_FALSE(link_.up());
}

TEST_F(LinkTest, ALinkThatGetsAStreamAsksItsPeerAtOnceAndGivesItTime) {
  receive(hello_of("host-b"));
  link_.session().set_carries_streams(false);
  advance(9s);
  wire().written.clear();
  link_.session().set_carries_streams(true);
  reactor_.advance(0s);
  link_.flush();
  EXPECT_EQ(wire().written, frame(FrameKind::kPing));
  advance(1900ms);
  EXPECT_TRUE(link_.up());
  advance(200ms);
  EXPECT_THAT(log_.lines, ElementsAre("up", HasSubstr("down: the peer sent nothing")));
}

TEST_F(LinkTest, StreamsThatComeAndGoDoNotKeepALinkToASilentPeer) {
  receive(hello_of("host-b"));
  link_.session().set_carries_streams(false);
  advance(9s);
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(link_.up());
    link_.session().set_carries_streams(i % 2 == 0);
    advance(100ms);
  }
  EXPECT_FALSE(link_.up()) << "2 s after the ping";
}

TEST_F(LinkTest, ALinkWhosePeerWasNotAskedIsNotGivenUp) {
  receive(hello_of("host-b"));
  for (int i = 0; i < 4; ++i) {  // a stream soon after each sign of the peer, and one much later
    link_.session().set_carries_streams(true);
    link_.session().set_carries_streams(false);
    advance(9s);
    wire().written.clear();
    link_.session().set_carries_streams(true);
    advance(10ms);
    EXPECT_EQ(wire().written, frame(FrameKind::kPing));
    EXPECT_TRUE(link_.up());
    receive(frame(FrameKind::kPong));
  }
}

TEST_F(LinkTest, APeerThatPingsGetsNoPings) {
  receive(hello_of("host-b"));
  for (int i = 0; i < 100; ++i) {
    wire().written.clear();
    receive(frame(FrameKind::kPing));
    EXPECT_EQ(wire().written, frame(FrameKind::kPong));
    wire().written.clear();
    advance(990ms);
    EXPECT_EQ(wire().written, "");
  }
}

TEST_F(LinkTest, GivesUpAPeerThatSaysNoHello) {
  advance(1100ms);
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("failed: the peer sent no hello")));
}

// A TCP connection has only a small receive buffer until its peer has sent a valid first frame, so
// a first frame that does not fit this buffer ends the connection.
TEST_F(LinkTest, GivesUpAPeerWhoseFirstFrameIsFarTooLongForAHello) {
  const std::string first = frame(FrameKind::kHello, std::string(kFramePayloadBytesMax, 'x'));
  receive(first.substr(0, TcpLane::kFirstBytes));
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("failed: the peer's first frame is not a hello")));
}

TEST_F(LinkTest, AnswersPingsAndPassesFramesOn) {
  receive(hello_of("host-b"));
  wire().written.clear();
  receive(frame(FrameKind::kPing) + frame(FrameKind::kRaw, "abc", 5));
  EXPECT_EQ(wire().written, frame(FrameKind::kPong));
  EXPECT_THAT(log_.lines, ElementsAre("up", "frame 12 3"));
}

TEST_F(LinkTest, BreaksOnAFrameThatBreaksTheFormat) {
  receive(hello_of("host-b"));
  receive(frame(static_cast<FrameKind>(99)));
  EXPECT_THAT(log_.lines, ElementsAre("up", HasSubstr("down: the peer sent a bad frame")));
}

TEST_F(LinkTest, TakesNoMoreCallsOnceThePeerLeavesButCarriesTheOthers) {
  receive(hello_of("host-b"));
  wire().written.clear();
  receive(frame(FrameKind::kGoAway));
  EXPECT_FALSE(link_.takes_calls());
  EXPECT_TRUE(link_.up());
  EXPECT_EQ(wire().written, frame(FrameKind::kGoAway)) << "the peer waits for our agreement";
}

TEST_F(LinkTest, GivesUpAPeerThatAsksAndReadsNoAnswers) {
  receive(hello_of("host-b"));
  wire().space = 0;
  std::string pings;
  for (int i = 0; i < 10'000; ++i) pings += frame(FrameKind::kPing);
  for (size_t sent = 0; link_.up() && sent <= 2 * TcpLane::kQueuedBytesMax; sent += pings.size()) {
    wire().incoming += pings;
    while (link_.up() && !wire().incoming.empty()) wire().notify_readable();
    link_.flush();
  }
  EXPECT_THAT(log_.lines,
              ElementsAre("up", "down: the peer does not read the data that this daemon sends"));
}

TEST_F(LinkTest, TakesNothingMoreOnceAWriteFailedAndEndsWhenAllIsRead) {
  receive(hello_of("host-b"));
  congest();
  wire().write_error = EPIPE;
  wire().events->on_writable();
  link_.flush();
  EXPECT_TRUE(link_.up());
  EXPECT_FALSE(link_.takes_calls());
  EXPECT_TRUE(link_.lane().congested());
  receive(frame(FrameKind::kRaw, "abc", 5));
  EXPECT_THAT(log_.lines, ElementsAre("up", "frame 12 3", "down: Broken pipe"));
}

TEST_F(LinkTest, IsCongestedWhileThePeerTakesNothingAndThenServesTheStreamsThatWait) {
  receive(hello_of("host-b"));
  congest();
  EXPECT_TRUE(link_.lane().congested());
  EXPECT_TRUE(wire().writing);
  FakeMember member;
  member.on_each = [&] { link_.lane().send({.kind = FrameKind::kRaw, .stream = 1}, {}); };
  EXPECT_EQ(link_.lane().turns().budget(member), 0u);
  wire().space = SIZE_MAX;
  wire().events->on_writable();
  EXPECT_FALSE(link_.lane().congested());
  EXPECT_EQ(member.turns, 1);
  EXPECT_FALSE(link_.lane().idle());
  EXPECT_TRUE(wire().writing) << "the frame of the turn is sent by the next event";
  wire().events->on_writable();
  EXPECT_TRUE(link_.lane().idle());
  EXPECT_FALSE(wire().writing);
}

// In the next two tests, the peer uses TLS on its links, but this node does not.
TEST_F(LinkTest, SaysThatThePeerSpeaksTlsWhereItAnswersWithAnAlert) {
  receive(std::string("\x15\x03\x01\x00\x02\x02\x46", 7));
  EXPECT_THAT(log_.lines, IsEmpty());
  wire().end = true;
  wire().notify_readable();
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("failed: the peer speaks TLS, and this node's")));
}

TEST_F(LinkTest, SaysThatThePeerSpeaksTlsWhereItBeginsAHandshake) {
  receive(std::string("\x16\x03\x01\x02\x00", 5) + std::string(300, '\1'));
  EXPECT_THAT(log_.lines, ElementsAre(HasSubstr("failed: the peer speaks TLS, and this node's")));
}

}  // namespace
}  // namespace hat::engine
