// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/pooled_call.h"

#include <gmock/gmock.h>

#include <limits>

#include "daemon/proxy/inbound/fake_pool.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using thrift::MessageType;

TEST_F(PooledCallTest, HasAnIdOfItsOwnAtTheServerAndTheCallersOnTheWayBack) {
  int32_t before = 0;
  uint64_t ordinal = 0;
  for (const int32_t seqid :
       {0, 0, 7, -1, std::numeric_limits<int32_t>::max(), std::numeric_limits<int32_t>::min()}) {
    SCOPED_TRACE(seqid);
    ++ordinal;
    call(1, ordinal, "get", seqid);
    const int32_t id = requests_in(server()->written).back().id;
    EXPECT_GE(id, 1'000'000'000);
    EXPECT_NE(id, before);
    before = id;
    reply(server(), with_text(10));
    EXPECT_THAT(ends(), ElementsAre("1." + std::to_string(ordinal) + " ends"));
    EXPECT_THAT(answers_,
                HasSubstr(strict_message(MessageType::kReply, "get", seqid, with_text(10))));
  }
  EXPECT_EQ(servers(), 1u) << "one after the other, they share a connection";
}

// Returns a THeader frame with the message of `framed`. The THeader header consists of its fixed
// part and one word, which names the binary encoding.
std::string in_theader(int32_t seqid, const std::string& framed) {
  const std::string all = std::string("\x0f\xff\0\0", 4) +
                          length_word(static_cast<uint32_t>(seqid)) + std::string("\0\1", 2) +
                          std::string(4, '\0') + framed.substr(4);
  return length_word(static_cast<uint32_t>(all.size())) + all;
}

TEST_F(PooledCallTest, HasItsIdInTheTheaderTooAndTheCallersOnTheWayBack) {
  constexpr int32_t kCallersId = 7, kTheadersId = 9;
  for (const bool server_echoes : {true, false}) {
    SCOPED_TRACE(server_echoes);
    const uint64_t ordinal = server_echoes ? 1 : 2;
    if (!server_echoes) server()->written.clear();
    send(1, ordinal, "get",
         in_theader(kTheadersId, strict_message(MessageType::kCall, "get", kCallersId)));
    const std::string seen = server()->written;
    const auto id = static_cast<int32_t>(word_at(seen, 8));
    EXPECT_GE(id, UpstreamConnection::kFirstId);
    EXPECT_EQ(seen, in_theader(id, strict_message(MessageType::kCall, "get", id)));
    const int32_t theaders_id = server_echoes ? id : 5;
    node_.receive(server(),
                  in_theader(theaders_id, strict_message(MessageType::kReply, "get", id)));
    EXPECT_THAT(ends(), ElementsAre("1." + std::to_string(ordinal) + " ends"));
    EXPECT_THAT(answers_,
                HasSubstr(in_theader(server_echoes ? kTheadersId : theaders_id,
                                     strict_message(MessageType::kReply, "get", kCallersId))));
  }
}

TEST_F(PooledCallTest, HasTheFirstIdAgainAfterTheLargest) {
  constexpr int32_t kLargest = std::numeric_limits<int32_t>::max();
  UpstreamConnection connection(*node_.worker, node_.worker->find_served("Pool"), kLargest);
  EXPECT_EQ(connection.next_id(), kLargest);
  EXPECT_EQ(connection.next_id(), UpstreamConnection::kFirstId);
}

TEST_F(PooledCallTest, UsesTheServerWithTheFewestCalls) {
  spread_over_two_servers(4);
  for (uint32_t stream = 1; stream <= 4; ++stream) call(stream, 1, "get");
  ASSERT_EQ(servers(), 4u);
  EXPECT_EQ(server(0)->address, server(2)->address) << "they take turns";
  EXPECT_EQ(server(1)->address, server(3)->address);
  EXPECT_NE(server(0)->address, server(1)->address);
  for (const size_t i : {1u, 3u, 0u}) reply(server(i));
  // The connection that was used last leads to the server that still has a call.
  for (const uint32_t stream : {1u, 2u}) call(stream, 2, "get");
  EXPECT_EQ(requests_in(server(1)->written).size() + requests_in(server(3)->written).size(), 3u);
  EXPECT_EQ(requests_in(server(0)->written).size(), 2u) << "each server has a call";
}

TEST_F(PooledCallTest, CallsThatAreNotConcurrentTakeTurnsAtTheServers) {
  spread_over_two_servers(4);
  for (uint64_t number = 1; number <= 6; ++number) {
    call(1, number, "get");
    reply(server((number - 1) % 2));
  }
  EXPECT_EQ(servers(), 2u) << "one connection to each";
  EXPECT_NE(server(0)->address, server(1)->address);
}

TEST_F(PooledCallTest, AServerThatComesBackGetsConnectionsOfTheOthers) {
  const ServedConfig pool = spread_over_two_servers(2);
  Ejections& ejections =
      node_.worker->upstreams().addresses(*node_.worker->find_served("Pool")).ejections();
  const std::string back = to_string(pool.addresses[1]);
  ejections.eject(back, node_.reactor.now());
  for (const uint32_t stream : {1u, 2u}) call(stream, 1, "get");
  ASSERT_EQ(servers(), 2u);
  for (const size_t i : {0u, 1u}) EXPECT_NE(server(i)->address, back);
  reply(server(1));
  node_.reactor.advance(Ejections::kFirst);
  call(3, 1, "get");
  ASSERT_EQ(servers(), 3u) << "an idle connection made room";
  EXPECT_EQ(server(2)->address, back);
}

TEST_F(PooledCallTest, HasIdsThatNobodyCanGuessFromAnotherConnection) {
  call(1, 1, "get");
  call(2, 1, "get");
  const int64_t first = requests_in(server(0)->written).back().id;
  const int64_t second = requests_in(server(1)->written).back().id;
  EXPECT_GT(std::abs(first - second), 1000);
}

// Bytes that a server sends instead of a correct reply: a wrong reply, or more than one reply.
struct Wrong {
  const char* name;
  std::string (*reply)(int32_t id);
};
std::string right(int32_t id) { return strict_message(MessageType::kReply, "get", id); }

class WrongReplyTest : public PooledCallTest, public testing::WithParamInterface<Wrong> {};
INSTANTIATE_TEST_SUITE_P(
    All, WrongReplyTest,
    testing::Values(
        Wrong{"another_id", [](int32_t id) { return right(id + 1); }},
        Wrong{"an_earlier_id", [](int32_t id) { return right(id - 1); }},
        Wrong{"the_callers_id", [](int32_t) { return right(7); }},
        Wrong{"another_name",
              [](int32_t id) { return strict_message(MessageType::kReply, "put", id); }},
        Wrong{"no_name", [](int32_t id) { return strict_message(MessageType::kReply, "", id); }},
        Wrong{"a_calls_type",
              [](int32_t id) { return strict_message(MessageType::kCall, "get", id); }},
        Wrong{"a_oneways_type",
              [](int32_t id) { return strict_message(MessageType::kOneway, "get", id); }},
        Wrong{"an_exceptions_id_of_nobody",
              [](int32_t id) { return strict_message(MessageType::kException, "get", id - 1); }},
        Wrong{"a_byte_too_many", [](int32_t id) { return right(id) + "x"; }},
        Wrong{"a_second_reply", [](int32_t id) { return right(id) + right(id + 1); }},
        Wrong{"two_in_a_frame",
              [](int32_t id) {
                const std::string one = right(id).substr(4);
                return length_word(static_cast<uint32_t>(2 * one.size())) + one + one;
              }},
        Wrong{"an_empty_frame", [](int32_t) { return std::string(4, '\0'); }},
        Wrong{"no_thrift", [](int32_t) { return std::string("HTTP/1.1 200 OK\r\n\r\n"); }}),
    [](const auto& row) { return std::string(row.param.name); });

TEST_P(WrongReplyTest, FailsTheCallAndClosesTheConnection) {
  call(1, 1, "get");
  const auto wrong = server();
  node_.receive(wrong, GetParam().reply(requests_in(wrong->written).back().id));
  EXPECT_THAT(ends(), ElementsAre("1.1 fails"));
  EXPECT_TRUE(wrong->closed);
  EXPECT_EQ(node_.counters.unsolicited_replies.value(), 1u);
  call(2, 1, "get");
  EXPECT_EQ(servers(), 2u);
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("2.1 ends"));
  EXPECT_EQ(node_.counters.upstream.open.value(), 1u);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// The daemon cannot parse the reply's struct, but knows the length of the Thrift frame. The client
// gets the reply. The connection closes, because the daemon cannot know what the server sends next.
TEST_F(PooledCallTest, LeavesNobodyAConnectionWhoseReplyWasNotUnderstood) {
  call(1, 1, "get");
  const auto odd = server();
  reply(odd, "\x63 what is this?");
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
  EXPECT_TRUE(odd->closed);
}

// Servers reply to a call of a two-way function even if the message has the type oneway. The daemon
// drops this reply, because the client does not wait for it.
TEST_F(PooledCallTest, OfATwoWayFunctionHasItsReplyAlsoWhereTheClientCallsItOneway) {
  oneway(1, 1, "get");
  const auto attacked = server();
  call(2, 1, "get");
  EXPECT_EQ(servers(), 2u) << "the first one waits for its reply";
  reply(attacked, with_text(10));
  EXPECT_THAT(ends(), IsEmpty()) << "nobody asked for it";
  call(3, 1, "get");
  EXPECT_EQ(servers(), 2u);
  reply(attacked, with_text(20));
  EXPECT_THAT(ends(), ElementsAre("3.1 ends"));
  EXPECT_THAT(answers_, HasSubstr(with_text(20)));
}

// The manifest says that the function is oneway: no reply arrives, although the client waits for
// one.
TEST_F(PooledCallTest, OfAOnewayFunctionEndsAtOnceAlsoWhereTheClientCallsItOtherwise) {
  call(1, 1, "note");
  EXPECT_THAT(ends(), ElementsAre("1.1 none"));
  call(1, 2, "get");
  EXPECT_EQ(servers(), 1u) << "it must not overtake";
  ASSERT_THAT(requests_in(server()->written), testing::SizeIs(2));
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
}

// The peer's kCall frame names the oneway function `note`, but the message calls the two-way
// function `get`. The name in the message decides.
TEST_F(PooledCallTest, IsOfTheFunctionThatItsMessageNames) {
  send(1, 1, "note", strict_message(MessageType::kCall, "get", 7), 0);
  const auto busy = server();
  call(2, 1, "get");
  ASSERT_EQ(servers(), 2u) << "get has a reply, so its connection is not free";
  reply(busy);
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("2.1 ends"));
}

TEST_F(PooledCallTest, HoldsNoConnectionBeforeItsRequestIsWhole) {
  const std::string request = strict_message(MessageType::kCall, "get", 7);
  for (uint32_t stream = 1; stream <= 3; ++stream) {
    send(stream, 1, "get", request.substr(0, 10), 1, false);
  }
  EXPECT_EQ(servers(), 0u);
  call(4, 1, "get");
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("4.1 ends"));
  more(1, request.substr(10), true);
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
}

struct NotOne {
  const char* name;
  std::string request;
  uint16_t replies;
};
TEST_F(PooledCallTest, IsRefusedWhereItsRequestIsNotOneWholeMessage) {
  const std::string one = strict_message(MessageType::kCall, "get", 7).substr(4);
  const auto frame = [](const std::string& body) {
    return length_word(static_cast<uint32_t>(body.size())) + body;
  };
  const std::vector<NotOne> rows = {
      {"two in a frame", frame(one + one), 2},
      {"two, and the peer says one", frame(one + one), 1},
      {"a byte too many", frame(one + "x"), 1},
      {"a byte too few", frame(one.substr(0, one.size() - 1)), 1},
      {"two frames", frame(one) + frame(one), 1},
      {"no message", "GET / HTTP/1.1\r\n\r\n", 1},
  };
  uint64_t ordinal = 0;
  for (const NotOne& row : rows) {
    SCOPED_TRACE(row.name);
    send(1, ++ordinal, "get", row.request, row.replies);
    EXPECT_THAT(ends(), ElementsAre("1." + std::to_string(ordinal) + " fails"));
    EXPECT_EQ(servers(), 0u);
  }
  send(1, ++ordinal, "", std::string(4, '\0'), 0);  // an empty frame is not a call
  EXPECT_THAT(ends(), IsEmpty());
  call(1, ++ordinal, "get");
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.8 ends"));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

TEST_F(PooledCallTest, GetsAConnectionBeforeCallsOfALowerPriority) {
  call(1, 1, "get");
  call(2, 1, "get");
  call(3, 1, "get");     // waits
  call(4, 1, "urgent");  // waits
  reply(server(0));
  EXPECT_EQ(requests_in(server(0)->written).back().name, "urgent");
  reply(server(1));
  EXPECT_EQ(requests_in(server(1)->written).back().name, "get");
  EXPECT_EQ(servers(), 2u);
}

// Three streams with urgent calls have two connections, so that an urgent call always waits.
TEST_F(PooledCallTest, OfALowerPriorityIsServedBetweenUrgentCalls) {
  for (const uint32_t stream : {1u, 2u, 4u}) call(stream, 1, "urgent");
  call(3, 1, "get");
  size_t gets = 0;
  constexpr uint64_t kRounds = 170;
  for (uint64_t round = 0; round < kRounds; ++round) {
    const auto free = server(round % 2);
    reply(free);
    for (const std::string& end : ends()) {  // "2.7 ends"
      const auto stream = static_cast<uint32_t>(end.front() - '0');
      const uint64_t ordinal = std::stoull(end.substr(2)) + 1;
      call(stream, ordinal, stream == 3 ? "get" : "urgent");
    }
    if (requests_in(free->written).back().name == "get") ++gets;
  }
  EXPECT_NEAR(static_cast<double>(gets), kRounds / 5.0, 2) << "4 of 5 parts are those of `urgent`";
}

TEST_F(PooledCallTest, WaitsForAConnectionNoLongerThanForOneThatIsMade) {
  for (uint32_t stream = 1; stream <= 3; ++stream) call(stream, 1, "get");
  server(0);
  server(1);
  EXPECT_EQ(servers(), 2u);
  node_.reactor.advance(default_limits().upstream_connect_timeout);
  EXPECT_THAT(ends(), ElementsAre("3.1 fails"));
  EXPECT_THAT(answers_, HasSubstr("none of its shared connections became free"));
  call(3, 2, "put");
  reply(server(0));
  reply(server(0));
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "3.2 ends"));
}

// A client that does not read its reply does not delay the calls of other clients.
TEST_F(PooledCallTest, FreesItsConnectionThoughItsCallerDoesNotRead) {
  call(1, 1, "get");
  const auto wire = server();
  const uint32_t bytes = 3 * engine::kStreamWindowBytes;
  reply(wire, with_text(bytes));
  EXPECT_THAT(ends(), IsEmpty());
  EXPECT_GT(node_.counters.buffered_bytes.value(), engine::kStreamWindowBytes);
  size_t got = answers_.size();
  call(2, 1, "get");
  EXPECT_EQ(servers(), 1u);
  reply(wire);
  EXPECT_THAT(ends(), ElementsAre("2.1 ends"));
  give_credit(1, bytes);
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
  got += answers_.size();
  EXPECT_GT(got, bytes);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

class LimitedPooledCallTest : public PooledCallTest {
 protected:
  LimitedPooledCallTest() : PooledCallTest(small()) {}
  static Limits small() {
    Limits limits = without_pings();
    limits.shared_request_bytes_max = 100'000;
    limits.shared_reply_bytes_max = engine::kStreamWindowBytes;
    return limits;
  }
};

TEST_F(LimitedPooledCallTest, FailsWhereItsCallerLeavesTooMuchOfTheReplyUnread) {
  call(1, 1, "get");
  const auto wire = server();
  const std::string all =
      strict_message(MessageType::kReply, "get", requests_in(wire->written).back().id,
                     with_text(3 * engine::kStreamWindowBytes));
  node_.receive(wire, all.substr(0, all.size() - 1));
  EXPECT_THAT(ends(), ElementsAre("1.0 reset")) << "half of a reply cannot be mended";
  EXPECT_THAT(answers_, HasSubstr("limits.shared_reply"));
  EXPECT_TRUE(wire->closed);
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

// A request of exactly limits.shared_request bytes uses a shared connection. A larger request gets
// a connection of its own, which is closed after the reply.
TEST_F(LimitedPooledCallTest, SharesAConnectionUpToTheLimitOfItsRequest) {
  const auto request = [](uint32_t bytes) {
    return strict_message(
        MessageType::kCall, "get", 7,
        with_text(bytes - static_cast<uint32_t>(
                              strict_message(MessageType::kCall, "get", 7, with_text(0)).size())));
  };
  const auto send_in_pieces = [&](uint64_t ordinal, const std::string& bytes) {
    constexpr size_t kPiece = 40'000;
    send(1, ordinal, "get", bytes.substr(0, kPiece), 1, false);
    for (size_t at = kPiece; at < bytes.size(); at += kPiece) {
      const bool last = at + kPiece >= bytes.size();
      more(ordinal, bytes.substr(at, kPiece), last);
    }
  };
  send_in_pieces(1, request(100'000));
  ASSERT_EQ(servers(), 1u);
  EXPECT_GE(requests_in(server()->written).back().id, 1'000'000'000);
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
  send_in_pieces(2, request(100'001));
  ASSERT_EQ(servers(), 2u);
  const auto own = server(1);
  EXPECT_EQ(requests_in(own->written).back().id, 7) << "nobody shares it";
  reply(own);
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
  EXPECT_TRUE(own->closed);
  call(1, 3, "get");
  EXPECT_EQ(servers(), 2u);
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.3 ends"));
}

// A request is held until all of it has arrived. The daemon must grant credit for the held bytes,
// because a request that is larger than the stream's window could otherwise never arrive.
TEST_F(PooledCallTest, TakesARequestThatIsLargerThanTheStreamsWindow) {
  const std::string request =
      strict_message(MessageType::kCall, "get", 7, with_text(3 * engine::kStreamWindowBytes));
  constexpr size_t kPiece = 60'000;
  size_t credit = engine::kStreamWindowBytes;
  for (size_t at = 0; at < request.size(); at += kPiece) {
    const std::string piece = request.substr(at, kPiece);
    ASSERT_GE(credit, piece.size()) << "it would wait for ever";
    credit -= piece.size();
    if (at == 0) {
      send(1, 1, "get", piece, 1, false);
    } else {
      more(1, piece, at + kPiece >= request.size());
    }
    for (const FrameHeader& header : headers_in(std::exchange(link_->written, ""))) {
      credit += header.credit;
    }
  }
  reply(server());
  for (const FrameHeader& header : headers_in(link_->written)) credit += header.credit;
  EXPECT_GE(credit + engine::kStreamWindowBytes / 2, engine::kStreamWindowBytes);
  EXPECT_LE(credit, engine::kStreamWindowBytes) << "no byte is granted twice";
  EXPECT_THAT(ends(), ElementsAre("1.1 ends"));
}

// --- Calls that must not use a shared connection ---

TEST_F(PooledCallTest, OfAFunctionThatIsNotListedHasAConnectionOfItsOwn) {
  call(1, 1, "say");
  call(1, 2, "put");
  const auto own = server();
  EXPECT_THAT(requests_in(own->written), testing::SizeIs(2)) << "in order, by one connection";
  call(2, 1, "put");
  ASSERT_EQ(servers(), 2u);
  EXPECT_GE(requests_in(server(1)->written).back().id, 1'000'000'000);
  reply(own);  // the reply to put; say was oneway
  EXPECT_THAT(ends(), ElementsAre("1.1 none", "1.2 ends"));
  EXPECT_TRUE(own->closed);
  reply(server(1));
  ends();
  call(1, 3, "put");
  EXPECT_EQ(servers(), 2u) << "it shares again";
}

TEST_F(PooledCallTest, OfAFunctionThatIsNotListedDoesNotOvertakeAOnewayCall) {
  oneway(1, 1, "note");
  call(1, 2, "say");
  EXPECT_EQ(servers(), 1u);
  const auto own = server();
  EXPECT_THAT(requests_in(own->written), testing::SizeIs(2));
  reply(own);
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
  EXPECT_TRUE(own->closed);
  for (uint32_t stream = 2; stream <= 3; ++stream) call(stream, 1, "get");
  EXPECT_EQ(servers(), 3u) << "it counts as shared no more";
}

TEST_F(PooledCallTest, LeavesItsConnectionToOthersWhereBytesFollowThatAreNoCall) {
  call(1, 1, "get");
  reply(server());
  ends();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  ASSERT_EQ(servers(), 2u);
  EXPECT_EQ(server(1)->written, "TLS?");
  call(2, 1, "get");
  EXPECT_EQ(servers(), 2u);
  EXPECT_THAT(requests_in(server(0)->written), testing::SizeIs(2));
}

TEST_F(PooledCallTest, EndsWithItsStreamWhereBytesFollowBeforeItIsAnswered) {
  call(1, 1, "get");
  const auto wire = server();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kRaw, .stream = 1}, "TLS?"));
  EXPECT_THAT(ends(), ElementsAre("1.0 reset"));
  EXPECT_TRUE(wire->closed) << "it owes a reply";
}

TEST_F(PooledCallTest, TakesItsConnectionAlongWhereItsCallerGivesUp) {
  call(1, 1, "get");
  const auto wire = server();
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCancel, .stream = 1, .call = 1}));
  node_.reactor.end_iteration();
  EXPECT_TRUE(wire->closed) << "it owes a reply";
  EXPECT_THAT(ends(), IsEmpty());
  call(1, 2, "get");
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
}

TEST_F(PooledCallTest, IsNotExecutedOnceItsCallerHasGivenUp) {
  call(1, 1, "put");
  call(1, 2, "get");
  node_.receive(link_, frame_bytes({.kind = FrameKind::kCancel, .stream = 1, .call = 2}));
  call(1, 3, "put");
  reply(server());
  reply(server());
  EXPECT_THAT(ends(), ElementsAre("1.1 ends", "1.3 ends"));
  EXPECT_THAT(server()->written, Not(HasSubstr("get")));
  EXPECT_EQ(node_.counters.buffered_bytes.value(), 0u);
}

TEST_F(PooledCallTest, FailsWithItsConnectionAndTheNextOneGoesByAnother) {
  call(1, 1, "put");
  call(1, 2, "get");
  const auto wire = server();
  wire->end = true;
  FakeNode::read(wire);
  node_.reactor.end_iteration();
  EXPECT_THAT(ends(), ElementsAre("1.1 fails"));
  reply(server(1));
  EXPECT_THAT(ends(), ElementsAre("1.2 ends"));
}

TEST_F(PooledCallTest, ThatIsOnewayReachesTheServerThoughItsClientEnds) {
  oneway(1, 1, "note");
  node_.receive(link_, frame_bytes({.kind = FrameKind::kEnd, .stream = 1}));
  const auto wire = server();  // the connection to the server is made only now
  node_.reactor.end_iteration();
  EXPECT_THAT(requests_in(wire->written), testing::SizeIs(1));
  EXPECT_FALSE(wire->closed) << "it serves others";
  call(2, 1, "get");
  EXPECT_EQ(servers(), 1u);
}

// A stock server answers a oneway call of an unknown function. The answer can arrive when the
// connection already carries another client's call, and must not be passed to this client.
TEST_F(PooledCallTest, GetsNotTheAnswerToAnothersOnewayCall) {
  oneway(1, 1, "note");
  oneway(2, 1, "note");
  const auto wire = server(0);
  server(1);
  node_.reactor.end_iteration();
  const int32_t first = requests_in(wire->written).back().id;
  call(3, 1, "get");
  ASSERT_THAT(requests_in(wire->written), testing::SizeIs(2));
  const std::string answer = strict_message(MessageType::kException, "note", first);
  node_.receive(wire, answer.substr(0, 10));
  node_.receive(wire, answer.substr(10));
  reply(wire);
  EXPECT_THAT(ends(), ElementsAre("3.1 ends"));
  EXPECT_THAT(answers_, Not(HasSubstr("note")));
  EXPECT_FALSE(wire->closed);
}

TEST_F(PooledCallTest, HasNoPartInTheEndOfAnIdleConnection) {
  call(1, 1, "get");
  const auto wire = server();
  reply(wire);
  ends();
  wire->end = true;
  FakeNode::read(wire);
  node_.reactor.end_iteration();
  EXPECT_TRUE(wire->closed);
  EXPECT_EQ(link_->written, "");
  call(1, 2, "get");
  EXPECT_EQ(servers(), 2u);
}

TEST_F(PooledCallTest, TakesNoConnectionWhoseServerHasNotTakenAllOfAnothersOnewayCall) {
  for (uint32_t stream = 1; stream <= 2; ++stream) oneway(stream, 1, "note");
  const auto slow = node_.reactor.wires.at(first_server_);
  slow->space = 10;
  slow->events->on_writable();
  call(3, 1, "get");
  EXPECT_THAT(slow->written, Not(HasSubstr("get")));
  slow->space = SIZE_MAX;
  slow->events->on_writable();
  EXPECT_THAT(requests_in(slow->written), testing::SizeIs(2));
}

// The daemon also grants credit for request bytes that the server never takes. Without this credit
// the stream would stop for ever.
TEST_F(PooledCallTest, GrantsAllOfARequestThatItsServerAnsweredBeforeItHadTakenIt) {
  size_t sent = 0;
  size_t granted = 0;
  for (uint64_t ordinal = 1; ordinal <= 20; ++ordinal) {
    const std::string request = strict_message(MessageType::kCall, "get", 7, with_text(60'000));
    sent += request.size();
    send(1, ordinal, "get", request);
    ASSERT_EQ(servers(), ordinal) << "none is used again";
    const auto wire = node_.reactor.wires.back();
    wire->space = 1000;
    wire->events->on_writable();
    node_.receive(wire, strict_message(MessageType::kException, "get", id_in(wire->written)));
    EXPECT_TRUE(wire->closed);
    EXPECT_THAT(ends(), ElementsAre("1." + std::to_string(ordinal) + " ends"));
    for (const FrameHeader& header : headers_in(answers_)) granted += header.credit;
  }
  EXPECT_GE(granted + engine::kStreamWindowBytes / 2, sent);
  EXPECT_LE(granted, sent);
}

}  // namespace
}  // namespace hat
