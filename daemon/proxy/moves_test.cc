// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/moves_test.cc: tests that a mirrored connection to a server moves from one stream to
// another in a takeover of either daemon.
//
// The first tests run the daemon on the client's side, and the later tests run the daemon on the
// server's side. Each test plays the daemon's peer.
#include <fcntl.h>
#include <gmock/gmock.h>

#include <algorithm>

#include "daemon/proxy/fake_node.h"
#include "daemon/proxy/fake_successor.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;

// Framed strict binary messages with an empty struct.
const std::string kCallOfGet(
    "\x00\x00\x00\x10\x80\x01\x00\x01\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);
const std::string kReplyOfGet(
    "\x00\x00\x00\x10\x80\x01\x00\x02\x00\x00\x00\x03get\x00\x00\x00\x01\x00", 20);
const std::string kToken = "sixteen bytes...";

// Returns the payload of the first frame of kind `kind` in `frames`, or "none" if there is none.
std::string payload_of(FrameKind kind, std::string_view frames) {
  while (frames.size() >= sizeof(FrameHeader)) {
    const FrameHeader header = headers_in(frames).front();
    frames.remove_prefix(sizeof header);
    if (header.kind == kind) return std::string(frames.substr(0, header.payload_bytes));
    frames.remove_prefix(header.payload_bytes);
  }
  return "none";
}

std::string hello_of_version(uint16_t version, const std::string& node, const std::string& peer) {
  const auto hello =
      engine::encode({.version_max = version, .generation = 42, .node = node, .peer = peer});
  return frame_bytes({.kind = FrameKind::kHello},
                     {reinterpret_cast<const char*>(hello.data()), hello.size()});
}

// --- The client's side ---

std::string text_of(const engine::ConnectionToken& token) {
  return {reinterpret_cast<const char*>(token.data()), token.size()};
}

// A client with a bound stream, number 1, on which one call was answered.
class ClientMovesTest : public testing::Test {
 protected:
  explicit ClientMovesTest(uint16_t version = engine::kLinkVersion) {
    node_.receive(peer_, hello_of_version(version, "host-b", ""));
    client_ = node_.connect_client();
    client_->descriptors = {7};
    call_and_answer(peer_, 1, 1);
    peer_->written.clear();
  }
  void say(const FakeNode::Wire& peer, FrameHeader header, const std::string& payload = "") {
    node_.receive(peer, frame_bytes(header, payload));
    node_.reactor.end_iteration();
  }
  void call_and_answer(const FakeNode::Wire& peer, uint32_t stream, uint64_t call) {
    node_.receive(client_, kCallOfGet);
    say(peer, {.kind = FrameKind::kBound, .stream = stream});
    answer(peer, stream, call);
  }
  void answer(const FakeNode::Wire& peer, uint32_t stream, uint64_t call) {
    client_->written.clear();
    say(peer,
        {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = stream, .call = call},
        "reply");
    EXPECT_EQ(client_->written, "reply");
  }
  void begin_hand_over() {
    node_.worker->begin_hand_over(successor_);
    node_.reactor.end_iteration();
    node_.reactor.end_iteration();
  }
  // Completes the handshake of the node's newest link, which replaces a link whose peer is shutting
  // down. Returns the peer's end of the newest link.
  FakeNode::Wire next_link() {
    auto wire = node_.reactor.wires.back();
    node_.receive(wire, hello_bytes("host-b", ""));
    node_.reactor.end_iteration();
    return wire;
  }

  FakeNode node_{without_pings()};
  FakeNode::Wire peer_ = node_.peer_wire();
  FakeNode::Wire client_;
  std::shared_ptr<FakeSuccessor> successor_ = std::make_shared<FakeSuccessor>();
};

TEST_F(ClientMovesTest, TakesTheServersConnectionAlongToTheSuccessor) {
  begin_hand_over();
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kDetach));
  EXPECT_TRUE(successor_->taken.empty()) << "the token has yet to come";
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  EXPECT_EQ(successor_->taken.size(), 1u);
  ASSERT_TRUE(successor_->server);
  EXPECT_EQ(successor_->server->peer, "host-b");
  EXPECT_EQ(text_of(successor_->server->token), kToken);
  EXPECT_TRUE(client_->closed);
  EXPECT_FALSE(client_->shut || client_->aborted);
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kDetach)) << "the stream has ended";
}

TEST_F(ClientMovesTest, DetachesBetweenTwoCalls) {
  node_.receive(client_, kCallOfGet);
  begin_hand_over();
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kCall));
  answer(peer_, 1, 2);
  EXPECT_THAT(kinds_in(peer_->written), ElementsAre(FrameKind::kCall, FrameKind::kDetach));
}

TEST_F(ClientMovesTest, StaysWhereThePeerCannotMoveTheConnection) {
  begin_hand_over();
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1});
  EXPECT_TRUE(successor_->taken.empty());
  call_and_answer(peer_, 1, 2);
}

TEST_F(ClientMovesTest, AttachesAgainWhereTheSuccessorDoesNotTakeTheClient) {
  successor_->answer = Successor::Answer::kNever;
  begin_hand_over();
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  EXPECT_EQ(payload_of(FrameKind::kAttach, peer_->written), kToken + "Kv");
}

TEST_F(ClientMovesTest, AttachesAgainWhereTheSuccessorIsGone) {
  successor_->answer = Successor::Answer::kLater;
  begin_hand_over();
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  node_.worker->end_hand_over();
  node_.reactor.end_iteration();
  EXPECT_EQ(payload_of(FrameKind::kAttach, peer_->written), kToken + "Kv");
}

class OlderPeerTest : public ClientMovesTest {
 protected:
  OlderPeerTest() : ClientMovesTest(engine::kLinkVersionOfMoves - 1) {}
};

TEST_F(OlderPeerTest, KeepsItsStreamWhereItIs) {
  begin_hand_over();
  EXPECT_TRUE(successor_->taken.empty());
  call_and_answer(peer_, 1, 2);
  say(peer_, {.kind = FrameKind::kGoAway});
  (void)next_link();
  call_and_answer(peer_, 1, 3);
}

TEST_F(ClientMovesTest, FollowsThePeerToItsSuccessor) {
  say(peer_, {.kind = FrameKind::kGoAway});
  EXPECT_EQ(kinds_in(peer_->written).back(), FrameKind::kDetach);
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  const auto next = next_link();
  EXPECT_EQ(payload_of(FrameKind::kAttach, next->written), kToken + "Kv") << "before any call";
  const FrameHeader attach = headers_in(next->written)[1];
  ASSERT_EQ(attach.kind, FrameKind::kAttach);
  call_and_answer(next, attach.stream, 1);
}

TEST_F(ClientMovesTest, HoldsBackACallUntilTheConnectionHasMoved) {
  say(peer_, {.kind = FrameKind::kGoAway});
  node_.receive(client_, kCallOfGet);
  EXPECT_THAT(kinds_in(peer_->written), testing::Not(testing::Contains(FrameKind::kCall)));
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  const auto next = next_link();
  EXPECT_THAT(kinds_in(next->written), ElementsAre(FrameKind::kHello, FrameKind::kAttach,
                                                   FrameKind::kSync, FrameKind::kCall));
}

TEST_F(ClientMovesTest, EndsWithTheServerOfAPeerThatLeavesForGood) {
  say(peer_, {.kind = FrameKind::kGoAway});
  say(peer_, {.kind = FrameKind::kEnd, .stream = 1});
  EXPECT_TRUE(client_->shut);
  EXPECT_FALSE(client_->aborted);
}

TEST_F(ClientMovesTest, EndsWithALinkThatIsLostMeanwhile) {
  say(peer_, {.kind = FrameKind::kGoAway});
  peer_->end = true;
  FakeNode::read(peer_);
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->shut);
  EXPECT_FALSE(client_->aborted);
}

TEST_F(ClientMovesTest, EndsWhereThePeerIsNotReachedInTime) {
  say(peer_, {.kind = FrameKind::kGoAway});
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  EXPECT_FALSE(client_->shut);
  node_.reactor.advance(default_limits().peer_wait);
  node_.reactor.end_iteration();
  EXPECT_TRUE(client_->shut);
}

TEST_F(ClientMovesTest, PassesTheApplicationsEndOnAfterwards) {
  say(peer_, {.kind = FrameKind::kGoAway});
  client_->end = true;
  FakeNode::read(client_);
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  const auto next = next_link();
  EXPECT_THAT(kinds_in(next->written), ElementsAre(FrameKind::kHello, FrameKind::kAttach,
                                                   FrameKind::kSync, FrameKind::kEnd));
  EXPECT_TRUE(client_->closed);
}

// The client's FIN arrives while the connection is moving to a successor: the connection stays in
// this process, and the server must get the client's FIN.
TEST_F(ClientMovesTest, EndsHereWhereTheApplicationEndsBeforeItIsHandedOver) {
  struct Case {
    const char* what;
    bool before_the_token;
  };
  for (const Case& one : {Case{"before the token", true}, Case{"after the token", false}}) {
    SCOPED_TRACE(one.what);
    FakeNode node{without_pings()};
    const auto peer = node.peer_wire();
    const auto say = [&](FrameHeader header, const std::string& payload = "") {
      node.receive(peer, frame_bytes(header, payload));
      node.reactor.end_iteration();
    };
    node.receive(peer, hello_bytes("host-b", ""));
    const auto client = node.connect_client();
    client->descriptors = {7};
    node.receive(client, kCallOfGet);
    say({.kind = FrameKind::kBound, .stream = 1});
    say({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 1});
    const auto successor = std::make_shared<FakeSuccessor>();
    successor->answer = Successor::Answer::kLater;
    node.worker->begin_hand_over(successor);
    node.reactor.end_iteration();
    const auto client_ends = [&] {
      client->end = true;
      FakeNode::read(client);
      node.reactor.end_iteration();
    };
    if (one.before_the_token) client_ends();
    say({.kind = FrameKind::kDetached, .stream = 1}, kToken);
    if (!one.before_the_token) client_ends();
    node.reactor.end_iteration();
    EXPECT_EQ(payload_of(FrameKind::kAttach, peer->written), kToken + "Kv");
    EXPECT_EQ(kinds_in(peer->written).back(), FrameKind::kEnd);
    EXPECT_TRUE(client->closed);
    EXPECT_TRUE(node.worker->handed_over());
  }
}

TEST_F(ClientMovesTest, ReachesTheServerThoughTheCallThatWaitedIsTooLate) {
  say(peer_, {.kind = FrameKind::kGoAway});
  node_.receive(client_, kCallOfGet);
  // The daemon has read the request, but begins no call while the connection to the server moves.
  say(peer_, {.kind = FrameKind::kDetached, .stream = 1}, kToken);
  node_.reactor.advance(milliseconds(990));
  const auto next = next_link();
  EXPECT_EQ(payload_of(FrameKind::kAttach, next->written), kToken + "Kv");
}

// At most 64 connections move at a time. The test answers all running moves at once, so no further
// event occurs, and the worker must set a timer to start the iteration that begins the next moves.
TEST_F(ClientMovesTest, GoToTheSuccessorAFewAtATime) {
  constexpr uint32_t kClients = 200;
  for (uint32_t stream = 2; stream <= kClients; ++stream) {
    const auto client = node_.connect_client();
    client->descriptors = {7};
    node_.receive(client, kCallOfGet);
    say(peer_, {.kind = FrameKind::kBound, .stream = stream});
    say(peer_,
        {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = stream, .call = 1});
  }
  peer_->written.clear();
  node_.worker->begin_hand_over(successor_);
  node_.reactor.end_iteration();
  for (int batch = 0; batch < 20 && !node_.worker->handed_over(); ++batch) {
    std::string answers;
    for (const FrameHeader& header : headers_in(peer_->written)) {
      if (header.kind != FrameKind::kDetach) continue;
      answers += frame_bytes({.kind = FrameKind::kDetached, .stream = header.stream}, kToken);
    }
    peer_->written.clear();
    if (!answers.empty()) node_.receive(peer_, answers);
    node_.reactor.advance(milliseconds(1));  // runs an iteration only if a timer is due
  }
  EXPECT_TRUE(node_.worker->handed_over());
  EXPECT_EQ(node_.counters.connections_handed_over.value(), kClients);
}

TEST_F(ClientMovesTest, MoveAFewAtATime) {
  constexpr size_t kClients = 200;
  std::vector<FakeNode::Wire> clients;
  for (uint32_t stream = 2; stream < 2 + kClients; ++stream) {
    clients.push_back(node_.connect_client());
    node_.receive(clients.back(), kCallOfGet);
    say(peer_, {.kind = FrameKind::kBound, .stream = stream});
    say(peer_,
        {.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = stream, .call = 1});
  }
  peer_->written.clear();
  say(peer_, {.kind = FrameKind::kGoAway});
  const auto next = next_link();
  size_t detached = 0;
  for (size_t done = 0; done <= kClients;) {
    std::vector<uint32_t> asked;
    for (const FrameHeader& header : headers_in(peer_->written)) {
      if (header.kind == FrameKind::kDetach) asked.push_back(header.stream);
    }
    peer_->written.clear();
    ASSERT_FALSE(asked.empty()) << done;
    EXPECT_LE(asked.size(), 64u);
    for (const uint32_t stream : asked) {
      say(peer_, {.kind = FrameKind::kDetached, .stream = stream}, kToken);
    }
    done += asked.size();
    detached += asked.size();
  }
  EXPECT_EQ(detached, kClients + 1);
  EXPECT_EQ(std::ranges::count(kinds_in(next->written), FrameKind::kAttach), kClients + 1);
}

TEST_F(ClientMovesTest, GoesOnWithWhatTheProcessBeforeHad) {
  KeptServer kept{"host-b", {}};
  std::ranges::copy(std::as_bytes(std::span(kToken)), kept.token.begin());
  const auto accept = [&](StreamEvents& events) {
    return node_.reactor.connect(*parse_address("tcp:127.0.0.1:1"), events);
  };
  node_.worker->take_over_client(0, accept, std::as_bytes(std::span(kCallOfGet)), &kept);
  node_.reactor.end_iteration();
  EXPECT_THAT(kinds_in(peer_->written),
              ElementsAre(FrameKind::kAttach, FrameKind::kSync, FrameKind::kCall));
  EXPECT_EQ(payload_of(FrameKind::kAttach, peer_->written), kToken + "Kv");

  kept.peer = "host-c";
  node_.worker->take_over_client(0, accept, {}, &kept);
  EXPECT_TRUE(node_.reactor.wires.back()->shut) << "the configuration has no such peer";
}

// --- The server's side ---

// A peer's bound stream, number 1, for service Kv, on which one call was answered.
class ServerMovesTest : public testing::Test {
 protected:
  ServerMovesTest() {
    node_.receive(link_, hello_bytes("host-b", "host-a"));
    say(link_, {.kind = FrameKind::kOpen, .stream = 1}, "Kv");
    call(link_, 1, 1);
    server_ = node_.reactor.wires.back();
    server_->events->on_writable();
    node_.receive(server_, kReplyOfGet);
    server_->descriptors = {null_.get()};
    link_->written.clear();
    server_->written.clear();
  }
  void say(const FakeNode::Wire& link, FrameHeader header, const std::string& payload = "") {
    node_.receive(link, frame_bytes(header, payload));
    node_.reactor.end_iteration();
  }
  void call(const FakeNode::Wire& link, uint32_t stream, uint64_t ordinal) {
    say(link,
        {.kind = FrameKind::kCall,
         .flags = engine::kLastPiece,
         .replies = 1,
         .stream = stream,
         .call = ordinal},
        call_meta("get", 1) + kCallOfGet);
  }
  void detach() { say(link_, {.kind = FrameKind::kDetach, .stream = 1}); }
  FakeNode::Wire link_from(const std::string& peer) {
    auto link = node_.connect_link();
    node_.receive(link, hello_bytes(peer, "host-a"));
    link->written.clear();
    return link;
  }

  const Descriptor null_{open("/dev/null", O_RDONLY | O_CLOEXEC)};
  FakeNode node_{without_pings()};
  FakeNode::Wire link_ = node_.connect_link();
  FakeNode::Wire server_;
};

TEST_F(ServerMovesTest, MovesTheConnectionToAnotherStream) {
  detach();
  const std::string token = payload_of(FrameKind::kDetached, link_->written);
  ASSERT_EQ(token.size(), sizeof(engine::ConnectionToken));
  EXPECT_TRUE(server_->closed);
  EXPECT_FALSE(server_->shut || server_->aborted) << "the server must see nothing";
  EXPECT_EQ(node_.detached.size(), 1u);

  const auto next = link_from("host-b");
  say(next, {.kind = FrameKind::kAttach, .stream = 9}, token + "Kv");
  EXPECT_THAT(kinds_in(next->written), ElementsAre(FrameKind::kBound));
  ASSERT_EQ(node_.reactor.resumed.size(), 1u);
  EXPECT_EQ(node_.detached.size(), 0u);
  const auto server = node_.reactor.wires.back();
  call(next, 9, 1);
  EXPECT_EQ(server->written, kCallOfGet);
  node_.receive(server, kReplyOfGet);
  EXPECT_EQ(payload_of(FrameKind::kReply, next->written), kReplyOfGet);
  EXPECT_EQ(node_.counters.upstream.connects.value(), 1u);
  EXPECT_EQ(node_.counters.upstream.detached.value(), 1u);
  EXPECT_EQ(node_.counters.upstream.attached.value(), 1u);
}

TEST_F(ServerMovesTest, WaitsUntilTheServerHasTakenAll) {
  server_->space = 0;
  say(link_,
      {.kind = FrameKind::kCall, .flags = engine::kLastPiece, .replies = 0, .stream = 1, .call = 2},
      std::string(4, '\0') + kCallOfGet);
  detach();
  EXPECT_EQ(payload_of(FrameKind::kDetached, link_->written), "none") << "not all is sent";
  EXPECT_FALSE(server_->reading) << "what the server says now is for the next stream";
  server_->space = SIZE_MAX;
  server_->events->on_writable();
  node_.reactor.advance(milliseconds(10));
  EXPECT_EQ(payload_of(FrameKind::kDetached, link_->written).size(), 16u);
}

TEST_F(ServerMovesTest, SaysSoWhereTheConnectionCannotMove) {
  server_->descriptors.clear();
  detach();
  node_.reactor.advance(seconds(2));
  EXPECT_EQ(payload_of(FrameKind::kDetached, link_->written), "");
  call(link_, 1, 2);
  EXPECT_EQ(server_->written, kCallOfGet);
}

TEST_F(ServerMovesTest, GivesTheConnectionToNobodyElse) {
  detach();
  const std::string token = payload_of(FrameKind::kDetached, link_->written);
  const auto other = link_from("host-c");
  say(other, {.kind = FrameKind::kAttach, .stream = 9}, token + "Kv");
  EXPECT_THAT(payload_of(FrameKind::kReset, other->written), HasSubstr("was not kept"));
  const auto same = link_from("host-b");
  say(same, {.kind = FrameKind::kAttach, .stream = 9}, token + "Pool");
  EXPECT_THAT(kinds_in(same->written), ElementsAre(FrameKind::kReset)) << "another service's";
  EXPECT_TRUE(node_.reactor.resumed.empty());
}

TEST_F(ServerMovesTest, EndsTheClientWhereTheNodeLeavesForGood) {
  node_.worker->begin_drain();
  say(link_, {.kind = FrameKind::kGoAway});
  EXPECT_FALSE(node_.worker->drained()) << "the peer has yet to give the connection up";
  detach();
  EXPECT_EQ(kinds_in(link_->written).back(), FrameKind::kEnd);
  EXPECT_TRUE(server_->closed);
  node_.reactor.end_iteration();
  EXPECT_TRUE(node_.worker->drained());
}

TEST_F(ServerMovesTest, WaitsForAConnectionThatItsPredecessorStillHas) {
  detach();
  const std::string token = payload_of(FrameKind::kDetached, link_->written);
  engine::ConnectionToken bytes;
  std::memcpy(bytes.data(), token.data(), bytes.size());
  DetachedConnection moved = std::move(*node_.detached.claim(bytes, "host-b", {}));
  node_.detached.expect_more(true);
  const auto next = link_from("host-b");
  say(next, {.kind = FrameKind::kAttach, .stream = 9}, token + "Kv");
  call(next, 9, 1);
  EXPECT_THAT(kinds_in(next->written), ElementsAre());
  ASSERT_TRUE(node_.detached.adopt(std::move(moved), node_.reactor.now()));
  node_.reactor.advance(milliseconds(10));
  EXPECT_EQ(kinds_in(next->written).front(), FrameKind::kBound);
  EXPECT_EQ(node_.reactor.wires.back()->written, kCallOfGet);
}

TEST_F(ServerMovesTest, AnswersKSyncOnlyOnceItIsAttached) {
  node_.detached.expect_more(true);
  const auto next = link_from("host-b");
  say(next, {.kind = FrameKind::kAttach, .stream = 9}, kToken + "Kv");
  say(next, {.kind = FrameKind::kSync, .stream = 9, .call = 1});
  EXPECT_THAT(kinds_in(next->written), ElementsAre());
  DetachedConnection moved{.service = "Kv", .server = "tcp:127.0.0.1:9091", .peer = "host-b"};
  std::memcpy(moved.token.data(), kToken.data(), moved.token.size());
  ASSERT_TRUE(node_.detached.adopt(std::move(moved), node_.reactor.now()));
  node_.reactor.advance(milliseconds(10));
  EXPECT_THAT(kinds_in(next->written), ElementsAre(FrameKind::kBound, FrameKind::kSynced));
}

TEST_F(ServerMovesTest, PassesBytesAndTheEndThatCameBeforeTheConnection) {
  node_.detached.expect_more(true);
  const auto next = link_from("host-b");
  say(next, {.kind = FrameKind::kAttach, .stream = 9}, kToken + "Kv");
  say(next, {.kind = FrameKind::kRaw, .stream = 9}, "bytes");
  say(next, {.kind = FrameKind::kEnd, .stream = 9});
  DetachedConnection moved{.service = "Kv", .server = "tcp:127.0.0.1:9091", .peer = "host-b"};
  std::memcpy(moved.token.data(), kToken.data(), moved.token.size());
  ASSERT_TRUE(node_.detached.adopt(std::move(moved), node_.reactor.now()));
  node_.reactor.advance(milliseconds(10));
  const auto server = node_.reactor.wires.back();
  EXPECT_EQ(server->written, "bytes");
  EXPECT_TRUE(server->shut);
  EXPECT_FALSE(server->closed) << "it may have more to say";
}

TEST_F(ServerMovesTest, StaysWhereTheSuccessorIsGone) {
  node_.worker->begin_hand_over(std::make_shared<FakeSuccessor>());
  node_.worker->end_hand_over();
  detach();
  EXPECT_EQ(payload_of(FrameKind::kDetached, link_->written), "");
  call(link_, 1, 2);
  EXPECT_EQ(server_->written, kCallOfGet);
  node_.worker->begin_drain();
  node_.receive(server_, kReplyOfGet);
  say(link_, {.kind = FrameKind::kGoAway});
  EXPECT_TRUE(node_.worker->drained()) << "it is not waited for";
}

TEST_F(ServerMovesTest, WaitsForItOnlySoLong) {
  node_.detached.expect_more(true);
  say(link_, {.kind = FrameKind::kAttach, .stream = 9}, kToken + "Kv");
  node_.reactor.advance(seconds(4));
  EXPECT_THAT(kinds_in(link_->written), ElementsAre());
  node_.reactor.advance(seconds(2));
  EXPECT_THAT(kinds_in(link_->written), ElementsAre(FrameKind::kReset));
}

TEST_F(ServerMovesTest, ResetsWhoKeepsToNoOrder) {
  struct Case {
    const char* what;
    FrameHeader header;
    std::string payload;
  };
  const std::string oneway(4, '\0');  // names of 0 bytes: of a function, and of a service
  const std::vector<Case> cases = {
      {"a call after kDetach",
       {.kind = FrameKind::kCall, .stream = 1, .call = 2},
       oneway + kCallOfGet},
      {"bytes after kDetach", {.kind = FrameKind::kRaw, .stream = 1}, "bytes"},
      {"kDetach twice", {.kind = FrameKind::kDetach, .stream = 1}, ""},
  };
  for (const Case& one : cases) {
    SCOPED_TRACE(one.what);
    FakeNode node{without_pings()};
    const auto link = node.connect_link();
    node.receive(link, hello_bytes("host-b", "host-a"));
    node.receive(link, frame_bytes({.kind = FrameKind::kOpen, .stream = 1}, "Kv"));
    node.receive(
        link,
        frame_bytes({.kind = FrameKind::kCall, .flags = engine::kLastPiece, .stream = 1, .call = 1},
                    oneway + kCallOfGet));
    const auto server = node.reactor.wires.back();
    server->events->on_writable();  // it has no descriptors, so kDetach is not answered at once
    node.receive(link, frame_bytes({.kind = FrameKind::kDetach, .stream = 1}));
    node.receive(link, frame_bytes(one.header, one.payload));
    EXPECT_EQ(kinds_in(link->written).back(), FrameKind::kReset);
  }
  link_->written.clear();
  say(link_, {.kind = FrameKind::kAttach, .stream = 9}, "short");
  EXPECT_THAT(kinds_in(link_->written), ElementsAre(FrameKind::kReset));
}

}  // namespace
}  // namespace hat
