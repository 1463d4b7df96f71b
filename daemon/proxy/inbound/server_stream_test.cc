// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_stream.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstring>

#include "daemon/proxy/fake_node.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;

// A node with a link from a peer, which has opened stream 1 for service Kv.
class ServerStreamTest : public testing::Test {
 protected:
  explicit ServerStreamTest(const Limits& limits = default_limits()) : node_(limits) {
    node_.receive(link_, hello_bytes("host-b", "host-a"));
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
  }
  void call(uint64_t ordinal, const std::string& request) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kCall,
                                      .flags = engine::kLastPiece,
                                      .replies = 1,
                                      .stream = 1,
                                      .call = ordinal},
                                     call_meta("get", 1) + request));
  }

  FakeNode node_;
  FakeNode::Wire link_ = node_.connect_link();
  uint16_t link_version_ = engine::kLinkVersion;  // the link version of the peer
};

TEST_F(ServerStreamTest, GrantsTheBytesOfCallsThatTheServerNeverTook) {
  constexpr uint32_t kCalls = 20;
  const std::string request(60'000, 'x');
  link_->written.clear();
  for (uint64_t ordinal = 1; ordinal <= kCalls; ++ordinal) {
    call(ordinal, request);
    const auto server = node_.reactor.wires.back();
    server->error = ECONNREFUSED;
    server->events->on_writable();
    node_.reactor.end_iteration();
  }
  uint64_t granted = 0;
  size_t failed = 0;
  for (const FrameHeader& header : headers_in(link_->written)) {
    granted += header.credit;
    failed += header.kind == FrameKind::kFail ? 1 : 0;
  }
  EXPECT_EQ(failed, kCalls);
  EXPECT_GE(granted + engine::kStreamWindowBytes / 2, kCalls * request.size())
      << "else the stream comes to a halt";
}

TEST_F(ServerStreamTest, EndsWhereThePeerSendsFarBeyondItsCredit) {
  constexpr size_t kPiece = 64'000;
  call(1, std::string(kPiece, 'x'));  // the server takes none of it
  link_->written.clear();
  size_t sent = kPiece;
  const auto was_reset = [&] {
    return std::ranges::any_of(headers_in(link_->written), [](const FrameHeader& header) {
      return header.kind == FrameKind::kReset;
    });
  };
  for (uint64_t ordinal = 2; !was_reset() && ordinal < 100; ++ordinal) {
    call(ordinal, std::string(kPiece, 'x'));
    sent += kPiece;
  }
  EXPECT_TRUE(was_reset());
  EXPECT_GT(sent, engine::kStreamWindowBytes);
  EXPECT_LE(sent, engine::ReceiveWindow::kOutstandingBytesMax + kPiece);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u) << "what was held went with the stream";
}

TEST_F(ServerStreamTest, CutsALongReplyWithoutAMessageIntoFrames) {
  call(1, "request");
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  link_->written.clear();
  const std::string unit = theader_without_message(100'000 + 14);
  node_.receive(server, unit.substr(0, 60'000));
  node_.receive(server, unit.substr(60'000));
  size_t bytes = 0;
  for (const FrameHeader& header : headers_in(link_->written)) {
    EXPECT_EQ(engine::invalid(header), nullptr);
    bytes += header.payload_bytes;
  }
  EXPECT_EQ(bytes, unit.size());
}

// A server can answer when it has read a part of a request, and then close the connection. The
// daemon must pass this answer on, although the daemon's next write to the server fails.
TEST_F(ServerStreamTest, PassesOnWhatTheServerSaidBeforeAWriteToItFailed) {
  call(1, "request");
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  server->space = 0;
  call(2, "more");
  server->incoming =
      std::string("\x00\x00\x00\x10\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);
  server->write_error = EPIPE;
  link_->written.clear();
  server->events->on_writable();
  FakeNode::read(server);
  node_.reactor.end_iteration();
  const auto headers = headers_in(link_->written);
  ASSERT_EQ(headers.size(), 3u);
  EXPECT_EQ(headers[2].kind, FrameKind::kEnd);
  EXPECT_EQ(headers[0].kind, FrameKind::kReply);
  EXPECT_EQ(headers[0].call, 1u);
  EXPECT_EQ(headers[1].kind, FrameKind::kFail);
  EXPECT_EQ(headers[1].call, 2u);
}

// The keepalive is 1 h, so that the link stays up while time passes without any frame.
class ConnectingServerStream : public ServerStreamTest {
 protected:
  ConnectingServerStream() : ServerStreamTest(without_pings()) {}
  static Limits without_pings() {
    Limits limits = default_limits();
    limits.keepalive_interval = limits.keepalive_timeout = std::chrono::hours(1);
    return limits;
  }
};

// If a server's backlog is full, the kernel drops the request to connect, and sends it again after
// 1 s, 3 s and 7 s. The daemon must still wait for the connection after 7 s.
TEST_F(ConnectingServerStream, WaitsForAServerThroughTheKernelsRetries) {
  call(1, "request");
  const auto server = node_.reactor.wires.back();
  link_->written.clear();
  node_.reactor.advance(std::chrono::milliseconds(7500));
  EXPECT_EQ(link_->written, "");
  server->events->on_writable();
  EXPECT_EQ(server->written, "request");
}

TEST_F(ConnectingServerStream, GivesUpAServerThatNeverAnswers) {
  call(1, "request");
  node_.reactor.advance(default_limits().upstream_connect_timeout);
  EXPECT_THAT(link_->written,
              testing::HasSubstr("no connection within limits.upstream_connect_timeout"));
}

TEST_F(ServerStreamTest, AcknowledgesAPartOfAReplyAtOnce) {
  call(1, "request");
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  const std::string reply("\x00\x00\x00\x10\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00",
                          20);
  node_.receive(server, reply.substr(0, 4));
  EXPECT_EQ(server->acknowledged, 1);
  node_.receive(server, reply.substr(4));
  call(2, "request");
  node_.receive(server, reply);
  EXPECT_EQ(server->acknowledged, 1) << "whole replies cost no system call more";
}

// The server's side counts the failure of an opaque stream, and sends the reason of the failure to
// the client's side.
class OpaqueServerStream : public ServerStreamTest {
 protected:
  OpaqueServerStream() {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
    server_ = node_.reactor.wires.back();
    link_->written.clear();
  }
  uint64_t failures(engine::Failure failure) const {
    return node_.counters
        .opaque_failures[static_cast<size_t>(Side::kServer)][static_cast<size_t>(failure)]
        .value();
  }
  std::string reset_with(engine::Failure failure, const std::string& detail) const {
    const engine::FailMeta meta{failure, 1};
    return frame_bytes({.kind = FrameKind::kReset, .stream = 1},
                       std::string(reinterpret_cast<const char*>(&meta), sizeof meta) + detail);
  }
  FakeNode::Wire server_;
};

TEST_F(OpaqueServerStream, SaysThatItsServerRefusedIt) {
  server_->error = ECONNREFUSED;
  server_->events->on_writable();
  node_.reactor.end_iteration();
  EXPECT_EQ(failures(engine::Failure::kUpstreamUnreachable), 1u);
  EXPECT_EQ(link_->written, reset_with(engine::Failure::kUpstreamUnreachable,
                                       "tcp:127.0.0.1:9091: Connection refused"));
}

TEST_F(OpaqueServerStream, SaysThatItsServerResetIt) {
  server_->events->on_writable();
  server_->error = ECONNRESET;
  FakeNode::read(server_);
  server_->events->on_readable();
  node_.reactor.end_iteration();
  EXPECT_EQ(failures(engine::Failure::kUpstreamClosed), 1u);
  EXPECT_THAT(link_->written, testing::HasSubstr("Connection reset by peer"));
}

TEST_F(OpaqueServerStream, CountsThatItsLinkWasLost) {
  link_->end = true;
  FakeNode::read(link_);
  node_.reactor.end_iteration();
  EXPECT_EQ(failures(engine::Failure::kLinkLost), 1u);
}

TEST_F(OpaqueServerStream, CountsNothingWhereBothSidesEnd) {
  server_->events->on_writable();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  server_->end = true;
  FakeNode::read(server_);
  node_.reactor.end_iteration();
  EXPECT_TRUE(server_->closed);
  link_->end = true;
  FakeNode::read(link_);
  node_.reactor.end_iteration();
  for (size_t i = 0; i < engine::kFailureCount; ++i) {
    EXPECT_EQ(failures(static_cast<engine::Failure>(i)), 0u);
  }
}

TEST_F(ServerStreamTest, EndsAnOpaqueStreamWhoseServerHasGoneWhenTheClientWritesOn) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  server->end = true;
  FakeNode::read(server);
  server->write_error = EPIPE;
  link_->written.clear();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "more"));
  server->events->on_writable();
  node_.reactor.end_iteration();
  EXPECT_EQ(headers_in(link_->written).back().kind, FrameKind::kReset);
  EXPECT_TRUE(server->closed);
}

TEST_F(ServerStreamTest, PassesOnAnOpaqueServersLastWordsAfterAWriteToItFailed) {
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  const auto server = node_.reactor.wires.back();
  server->events->on_writable();
  server->space = 0;
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "more"));
  server->write_error = EPIPE;
  server->incoming = "last words";
  server->end = true;
  link_->written.clear();
  server->events->on_writable();
  FakeNode::read(server);
  FakeNode::read(server);
  node_.reactor.end_iteration();
  EXPECT_EQ(link_->written,
            frame_bytes({.kind = FrameKind::kRaw, .stream = 1, .credit = 8}, "last words") +
                frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// --- Calls of functions that no manifest lists: they may be oneway ---

// Streams 1 (mirrored Kv) and 2 (shared Pool). FakeNode's manifest lists Kv.get and Pool.put.
class PossibleCallsServedTest : public ServerStreamTest {
 protected:
  PossibleCallsServedTest() {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 2}, "Pool"));
    link_->written.clear();
  }
  static std::string message(thrift::MessageType type, const std::string& name, int32_t id = 1) {
    std::string bytes("\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00",
                      20);
    bytes[7] = static_cast<char>(type);
    for (size_t i = 0; i < 4; ++i) bytes[15 + i] = static_cast<char>(id >> (24 - 8 * i));
    return bytes.replace(12, 3, name);
  }
  void call(uint32_t stream, uint64_t ordinal, const std::string& name, int32_t id = 1) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kCall,
                                      .flags = engine::kLastPiece,
                                      .replies = 1,
                                      .stream = stream,
                                      .call = ordinal},
                                     call_meta(name, id, link_version_) +
                                         message(thrift::MessageType::kCall, name, id)));
  }
  void cancel(uint32_t stream, uint64_t ordinal) {
    node_.receive(link_,
                  frame_bytes({.kind = FrameKind::kCancel, .stream = stream, .call = ordinal}));
  }
  FakeNode::Wire connected_server() {
    auto server = node_.reactor.wires.back();
    server->events->on_writable();
    return server;
  }
  void reply(const FakeNode::Wire& server, const std::string& name, int32_t id = 1) {
    node_.receive(server, message(thrift::MessageType::kReply, name, id));
  }
  // Connects a peer of this link version in place of the earlier peer, and opens stream 1.
  void peer_of(uint16_t link_version) {
    link_version_ = link_version;
    const auto hello = engine::encode(
        {.version_max = link_version, .generation = 42, .node = "host-b", .peer = "host-a"});
    link_ = node_.connect_link();
    node_.receive(link_, frame_bytes({.kind = FrameKind::kHello},
                                     {reinterpret_cast<const char*>(hello.data()), hello.size()}));
    node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
    link_->written.clear();
  }
  void end_of_client(uint32_t stream) {
    node_.receive(link_, frame_bytes({.kind = FrameKind::kEnd, .stream = stream}));
  }
  void end_of(const FakeNode::Wire& server) {
    server->end = true;
    FakeNode::read(server);
    node_.reactor.end_iteration();
  }
  // Returns "3 ends" for the last frame of a reply to call 3, "3 none" for kNoReply, "3 fails" for
  // kFail.
  std::vector<std::string> ends() {
    std::vector<std::string> all;
    for (const FrameHeader& header : headers_in(std::exchange(link_->written, ""))) {
      const std::string call = std::to_string(header.call);
      if (header.kind == FrameKind::kFail) all.push_back(call + " fails");
      if (header.kind != FrameKind::kReply || (header.flags & engine::kLastPiece) == 0) continue;
      const bool none = (header.flags & engine::kOutcomeMask) == engine::kNoReply;
      EXPECT_EQ(none, header.payload_bytes == 0);
      all.push_back(call + (none ? " none" : " ends"));
    }
    return all;
  }
};

using testing::ElementsAre;
using testing::IsEmpty;

TEST_F(PossibleCallsServedTest, EndWithoutAReplyOnceALaterCallHasIts) {
  call(1, 1, "say");
  call(1, 2, "say");
  call(1, 3, "get");
  EXPECT_THAT(ends(), IsEmpty());
  const auto server = connected_server();
  reply(server, "get");
  EXPECT_THAT(ends(), ElementsAre("1 none", "2 none", "3 ends"));
  call(1, 4, "ask");
  reply(server, "ask");
  EXPECT_THAT(ends(), ElementsAre("4 ends"));
}

TEST_F(PossibleCallsServedTest, NeverEndOneThatHasAReplyForSure) {
  call(1, 1, "get");
  call(1, 2, "ask");
  reply(connected_server(), "ask");
  EXPECT_THAT(ends(), ElementsAre("1 fails", "2 fails")) << "servers answer in order";
}

TEST_F(PossibleCallsServedTest, EndWithTheServerWhereTheClientHasEnded) {
  for (const uint32_t stream : {1u, 2u}) {
    SCOPED_TRACE(stream);
    call(stream, 1, "say");
    const auto server = connected_server();
    EXPECT_FALSE(server->shut);
    end_of_client(stream);
    EXPECT_TRUE(server->shut) << "the FIN goes on at once";
    EXPECT_FALSE(server->closed) << "a reply may come";
    end_of(server);
    EXPECT_THAT(ends(), ElementsAre("1 none"));
    EXPECT_TRUE(server->closed);
  }
  EXPECT_EQ(node_.counters.upstream.open.value(), 0u);
}

TEST_F(PossibleCallsServedTest, AreAnsweredAlsoAfterTheClientsEnd) {
  call(1, 1, "ask");
  const auto server = connected_server();
  end_of_client(1);
  reply(server, "ask");
  EXPECT_THAT(ends(), ElementsAre("1 ends"));
  EXPECT_TRUE(server->closed);
}

TEST_F(PossibleCallsServedTest, LeaveNoOtherASharedConnectionThatHadTheClientsEnd) {
  call(2, 1, "ask");
  const auto server = connected_server();
  end_of_client(2);
  ASSERT_TRUE(server->shut);
  reply(server, "ask");
  EXPECT_THAT(ends(), ElementsAre("1 ends"));
  node_.receive(link_, frame_bytes({.kind = FrameKind::kOpen, .stream = 3}, "Pool"));
  call(3, 1, "put");
  EXPECT_NE(node_.reactor.wires.back(), server);
  EXPECT_TRUE(server->closed);
}

TEST_F(PossibleCallsServedTest, FailWhereTheServerEndsFirst) {
  call(1, 1, "say");
  end_of(connected_server());
  EXPECT_THAT(ends(), ElementsAre("1 fails"));
}

// --- The server's end ---

class ServersEndTest : public PossibleCallsServedTest {
 protected:
  std::vector<FrameKind> kinds() {
    std::vector<FrameKind> all;
    for (const FrameHeader& header : headers_in(std::exchange(link_->written, ""))) {
      all.push_back(header.kind);
    }
    return all;
  }
};

TEST_F(ServersEndTest, IsToldAfterTheFailuresOfCallsThatItLeavesUnanswered) {
  call(1, 1, "get");
  const auto server = connected_server();
  reply(server, "get");
  EXPECT_THAT(kinds(), ElementsAre(FrameKind::kBound, FrameKind::kReply));
  call(1, 2, "get");
  const size_t connections = node_.reactor.wires.size();
  end_of(server);
  EXPECT_THAT(kinds(), ElementsAre(FrameKind::kFail, FrameKind::kEnd));
  call(1, 3, "get");  // sent before the peer knew of the server's end
  EXPECT_THAT(ends(), ElementsAre("3 fails"));
  EXPECT_EQ(node_.reactor.wires.size(), connections) << "another connection knows no login";
  end_of_client(1);
  EXPECT_TRUE(server->closed);
  EXPECT_EQ(node_.counters.upstream.open.value(), 0u);
}

TEST_F(ServersEndTest, IsToldAtOnceWhereItIsIdle) {
  call(1, 1, "get");
  const auto server = connected_server();
  reply(server, "get");
  kinds();
  server->error = ECONNRESET;
  FakeNode::read(server);
  server->notify_readable();
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds(), ElementsAre(FrameKind::kEnd));
}

TEST_F(ServersEndTest, IsNoneWhereNoConnectionCameAbout) {
  call(1, 1, "get");
  const auto server = node_.reactor.wires.back();
  server->error = ECONNREFUSED;
  server->events->on_writable();
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds(), ElementsAre(FrameKind::kFail));
  call(1, 2, "get");
  EXPECT_NE(node_.reactor.wires.back(), server) << "it tries again";
}

// A peer of an older link version does not know kBound, and does not expect a kEnd when the server
// ends its connection, so the node must send neither frame to this peer.
TEST_F(ServersEndTest, IsNotToldToAPeerOfBefore) {
  peer_of(engine::kLinkVersionOfBound - 1);
  call(1, 1, "get");
  const auto server = connected_server();
  reply(server, "get");
  end_of(server);
  EXPECT_THAT(kinds(), ElementsAre(FrameKind::kReply));
  call(1, 2, "get");
  EXPECT_NE(node_.reactor.wires.back(), server);
}

// --- Each reply is sent to the call that the reply answers ---

class MatchedRepliesTest : public PossibleCallsServedTest {
 protected:
  // Ends the iteration, and returns true if the connection to the server is closed.
  bool closed(const FakeNode::Wire& server) {
    node_.reactor.end_iteration();
    return server->closed;
  }
};

TEST_F(MatchedRepliesTest, AreThoseOfTheCallsNameAndId) {
  call(1, 1, "get", 5);
  call(1, 2, "get", -6);
  const auto server = connected_server();
  reply(server, "get", 5);
  reply(server, "get", -6);
  EXPECT_THAT(ends(), ElementsAre("1 ends", "2 ends"));
  EXPECT_FALSE(closed(server));
}

struct WrongReply {
  const char* what;
  thrift::MessageType type;
  const char* name;
  int32_t id;
};

TEST_F(MatchedRepliesTest, EndTheConnectionWhereTheyAnswerNoCall) {
  constexpr WrongReply kWrong[] = {
      {"another id", thrift::MessageType::kReply, "get", 4},
      {"another name", thrift::MessageType::kReply, "set", 5},
      {"an exception of another id", thrift::MessageType::kException, "get", 4},
      {"a call", thrift::MessageType::kCall, "get", 5},
      {"a oneway call", thrift::MessageType::kOneway, "get", 5},
      {"the reply to a later call", thrift::MessageType::kReply, "get", 6},
  };
  for (const WrongReply& wrong : kWrong) {
    peer_of(engine::kLinkVersion);
    call(1, 1, "get", 5);
    call(1, 2, "get", 6);
    const auto server = connected_server();
    node_.receive(server, message(wrong.type, wrong.name, wrong.id));
    EXPECT_THAT(ends(), ElementsAre("1 fails", "2 fails")) << wrong.what;
    EXPECT_TRUE(closed(server)) << wrong.what;
  }
}

TEST_F(MatchedRepliesTest, EndTheConnectionWhereNobodyWaitsForOne) {
  call(1, 1, "get", 5);
  const auto server = connected_server();
  reply(server, "get", 5);
  EXPECT_THAT(ends(), ElementsAre("1 ends"));
  reply(server, "get", 5);
  EXPECT_TRUE(closed(server)) << "the server answered twice";
  EXPECT_THAT(headers_in(link_->written),
              ElementsAre(testing::Field(&FrameHeader::kind, FrameKind::kEnd)));
  EXPECT_EQ(node_.counters.unsolicited_replies.value(), 1u);
}

TEST_F(MatchedRepliesTest, AreOneMessageEach) {
  call(1, 1, "get", 5);
  const auto server = connected_server();
  const std::string one = message(thrift::MessageType::kReply, "get", 5);
  std::string two = one + one.substr(4);
  two[3] = static_cast<char>(two.size() - 4);
  node_.receive(server, two);
  EXPECT_THAT(ends(), ElementsAre("1 fails"));
  EXPECT_TRUE(closed(server));
}

TEST_F(MatchedRepliesTest, ToARequestOfSeveralMessagesAreCounted) {
  const std::string one = message(thrift::MessageType::kCall, "say", 4);
  std::string two = one + message(thrift::MessageType::kCall, "get", 5).substr(4);
  two[3] = static_cast<char>(two.size() - 4);
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCall,
                                    .flags = engine::kLastPiece | engine::kSeveral,
                                    .replies = 2,
                                    .stream = 1,
                                    .call = 1},
                                   call_meta("say", 4) + two));
  const auto server = connected_server();
  reply(server, "say", 4);
  EXPECT_THAT(ends(), IsEmpty());
  reply(server, "get", 5);
  EXPECT_FALSE(closed(server));
}

// The connection continues after an exception for a oneway call that the server does not know.
TEST_F(MatchedRepliesTest, ToOnewayCallsAreDropped) {
  call(1, 1, "say", 5);
  call(1, 2, "get", 6);
  const auto server = connected_server();
  reply(server, "get", 6);
  EXPECT_THAT(ends(), ElementsAre("1 none", "2 ends"));
  node_.receive(server, message(thrift::MessageType::kException, "say", 5));
  call(1, 3, "get", 7);
  reply(server, "get", 7);
  EXPECT_THAT(ends(), ElementsAre("3 ends"));
  EXPECT_EQ(node_.counters.unsolicited_replies.value(), 1u);
}

TEST_F(MatchedRepliesTest, ToOnewayCallsAreKnownByTheNewestNames) {
  constexpr uint64_t kRemembered = 32;
  const auto name = [](uint64_t i) { return (i < 10 ? "n0" : "n") + std::to_string(i); };
  for (uint64_t i = 0; i <= kRemembered; ++i) call(1, i + 1, name(i));
  call(1, kRemembered + 2, "get", 5);
  const auto server = connected_server();
  reply(server, "get", 5);
  EXPECT_THAT(ends(), testing::SizeIs(kRemembered + 2));
  node_.receive(server, message(thrift::MessageType::kException, name(1)));
  EXPECT_FALSE(closed(server));
  node_.receive(server, message(thrift::MessageType::kException, name(0)));
  EXPECT_TRUE(closed(server));
}

// A peer of an older link version does not send the sequence id of a call, so the daemon compares
// only the function's name in a reply.
TEST_F(MatchedRepliesTest, OfAPeerOfBeforeAreThoseOfTheCallsName) {
  peer_of(engine::kLinkVersionOfIds - 1);
  call(1, 1, "get", 5);
  const auto server = connected_server();
  reply(server, "get", 4);
  EXPECT_THAT(ends(), ElementsAre("1 ends"));
  call(1, 2, "get", 6);
  reply(server, "set", 6);
  EXPECT_THAT(ends(), ElementsAre("2 fails"));
  EXPECT_TRUE(closed(server));
}

}  // namespace
}  // namespace hat
