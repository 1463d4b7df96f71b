// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/call_ways_test.cc: tests how a worker counts calls by what carried them:
// calls on RDMA lanes over the loop fabric, and calls over TCP that end in different ways.
#include <gmock/gmock.h>

#include <cerrno>

#include "daemon/metrics/function_totals.h"
#include "daemon/proxy/fake_pair.h"
#include "engine/plan/fake_costs.h"

namespace hat {
namespace {

using engine::FrameHeader;
using engine::FrameKind;
using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

// Returns the calls of all functions on the client's side as "3 direct_write_imm / rfp".
std::vector<std::string> counted(MetricsRegistry& metrics) {
  std::vector<std::string> all;
  for (FunctionMetrics& function : metrics.all()) {
    for (const auto& [way, calls] : total(function, Side::kClient).ways) {
      all.push_back(std::to_string(calls) + " " + std::string(name(way.request)) + " / " +
                    std::string(name(way.reply)));
    }
  }
  return all;
}

// --- Calls on RDMA lanes ---

struct Carried {
  const char* what;
  const char* requests;  // the protocol that the hints of the client's side name
  const char* replies;   // the protocol that the hints of the server's side name
  size_t request_bytes;
  size_t reply_bytes;
  Duration think;  // how long the server takes
  const char* expected;
  uint32_t hinted_reply_bytes = 0;  // payload_size of the server's hints; 0: no hint
};

// Without a hint the slots have 4 KiB. A fetch leg READs until 256 READs have found nothing, and
// then asks the sender to push the reply.
constexpr Carried kCarried[] = {
    {"without split", "direct_write_imm", "direct_write_imm", 64, 64, 50ms,
     "1 direct_write_imm / direct_write_imm"},
    {"legs that others share", "herd", "hybrid_eager_rndv", 64, 64, 50ms,
     "1 herd / hybrid_eager_rndv"},
    {"a fetched reply", "direct_write_imm", "rfp", 64, 2000, 50ms, "1 direct_write_imm / rfp"},
    {"one READ of metadata", "direct_write_imm", "farm", 64, 2000, 50ms,
     "1 direct_write_imm / farm"},
    {"two READs of metadata", "direct_write_imm", "pilaf", 64, 2000, 50ms,
     "1 direct_write_imm / pilaf"},
    {"bitmaps", "hipower", "hipower", 64, 64, 50ms, "1 hipower / hipower"},
    {"a late reply, which is pushed", "rfp", "rfp", 64, 64, 5s, "1 rfp / eager"},
    {"a late reply of more than 4 KiB, which is pushed", "rfp", "rfp", 64, 10'000, 5s,
     "1 rfp / write_rndv", 16 << 10},
    {"a reply that fits a slot only by its hint", "rfp", "rfp", 64, 10'000, 50ms, "1 rfp / rfp",
     16 << 10},
    {"a reply beyond a slot", "rfp", "rfp", 64, 10'000, 50ms, "1 rfp / write_rndv"},
    {"a request beyond a slot", "eager", "eager", 10'000, 64, 50ms, "1 write_rndv / eager"},
    {"both beyond a slot", "ar_grpc", "ar_grpc", 10'000, 10'000, 50ms, "1 read_rndv / read_rndv"},
    {"many pieces", "direct_write_imm", "read_rndv", 150'000, 150'000, 50ms,
     "1 write_rndv / read_rndv"},
};

TEST(CallWays, OnRdmaLanesAreWhatHasCarriedTheMessages) {
  for (const Carried& row : kCarried) {
    SCOPED_TRACE(row.what);
    FunctionSpec get{.name = "get"};
    get.hints.client.protocol = row.requests;
    get.hints.server.protocol = row.replies;
    if (row.hinted_reply_bytes != 0) get.hints.server.payload_bytes = row.hinted_reply_bytes;
    FakePair pair(get);
    const FakePair::WirePointer client = pair.connect_client();
    const std::string reply = get_reply(row.reply_bytes);
    ASSERT_EQ(pair.call(client, get_call(), get_reply()), get_reply());  // opens the lane
    ASSERT_EQ(pair.call(client, get_call(row.request_bytes), reply, row.think), reply);
    EXPECT_THAT(counted(pair.caller().metrics),
                testing::UnorderedElementsAre(row.expected, "1 tcp / tcp"));
  }
}

TEST(CallWays, FollowThePlanForThePeer) {
  for (const auto& [peer, expected] : {std::pair("host-b", "1 direct_write_imm / "),
                                       std::pair("host-c", "1 hybrid_eager_rndv / ")}) {
    engine::HostFacts host{8, 8, true, ""};
    host.measured_with[peer] = engine::cheap_writes();
    FunctionSpec get{.name = "get"};
    get.hints.both.payload_bytes = 16'384;
    FakePair pair(get, FakePair::Server(), &engine::open_loop_fabric, host);
    const FakePair::WirePointer client = pair.connect_client();
    ASSERT_EQ(pair.call(client, get_call(), get_reply()), get_reply());  // opens the lane
    ASSERT_EQ(pair.call(client, get_call(), get_reply()), get_reply());
    EXPECT_THAT(counted(pair.caller().metrics),
                testing::UnorderedElementsAre(testing::StartsWith(expected), "1 tcp / tcp"));
  }
}

// A reload removes the plan for the peer, and another one adds it again, with another number.
TEST(CallWays, FollowThePlanForThePeerAfterReloads) {
  FunctionSpec get{.name = "get"};
  get.hints.both.payload_bytes = 16'384;
  FunctionSpec also = get;
  also.name = "also";
  engine::HostFacts host{8, 8, true, ""};
  host.measured_with["host-b"] = engine::cheap_writes();
  FakePair pair(get, FakePair::Server(), &engine::open_loop_fabric, host);
  const auto reload = [&](const std::vector<FunctionSpec>& functions) {
    pair.caller().worker->set_routes(
        std::make_shared<RoutingTable>(2, Manifest{"", {{"Kv", {}, functions, ""}}},
                                       std::vector<std::string>{}, host, pair.caller().metrics));
  };
  const FakePair::WirePointer client = pair.connect_client();
  const auto requests_by = [&] {  // of the last of three calls
    for (int i = 0; i < 2; ++i) EXPECT_EQ(pair.call(client, get_call(), get_reply()), get_reply());
    const std::vector<std::string> before = counted(pair.caller().metrics);
    EXPECT_EQ(pair.call(client, get_call(), get_reply()), get_reply());
    for (const std::string& way : counted(pair.caller().metrics)) {
      if (std::ranges::find(before, way) == before.end()) return way.substr(2);
    }
    return std::string("nothing");
  };
  EXPECT_THAT(requests_by(), testing::StartsWith("direct_write_imm / "));
  host.measured_with.clear();
  reload({get});
  EXPECT_THAT(requests_by(), testing::StartsWith("hybrid_eager_rndv / "));
  host.measured_with["host-b"] = engine::cheap_writes();
  reload({also, get});
  EXPECT_THAT(requests_by(), testing::StartsWith("direct_write_imm / "));
}

// A plan for mixed sizes, and the names of the ways that carry its messages.
struct MixedSizes {
  const char* what;
  Hints hints;
  const char* small;
  const char* large;
};

const MixedSizes kMixedSizes[] = {
    {"res_util, under",
     {.perf_goal = PerfGoal::kResUtil, .payload_bytes = 128 * 1024},
     "direct_write_imm",
     "write_rndv"},
    {"res_util, over",
     {.perf_goal = PerfGoal::kResUtil, .concurrency = Subscription::kOver},
     "eager",
     "write_rndv"},
    {"no hints", {}, "hybrid_eager_rndv", "write_rndv"},
    {"READs", {.protocol = "ar_grpc"}, "ar_grpc", "read_rndv"},
};

TEST(CallWays, OfPlansWithOneLaneFollowTheSizeOfEachMessage) {
  for (const MixedSizes& row : kMixedSizes) {
    SCOPED_TRACE(row.what);
    FunctionSpec get{.name = "get"};
    get.hints.both = row.hints;
    FakePair pair(get);
    const FakePair::WirePointer client = pair.connect_client();
    ASSERT_EQ(pair.call(client, get_call(), get_reply()), get_reply());  // opens the lane
    std::vector<std::string> expected = {"1 tcp / tcp"};  // another lane would cost another call
    for (const bool large_request : {false, true}) {
      for (const bool large_reply : {false, true}) {
        const std::string reply = get_reply(large_reply ? 10'000 : 64);
        ASSERT_EQ(pair.call(client, get_call(large_request ? 10'000 : 64), reply), reply);
        expected.push_back(std::string("1 ") + (large_request ? row.large : row.small) + " / " +
                           (large_reply ? row.large : row.small));
      }
    }
    EXPECT_THAT(counted(pair.caller().metrics), testing::UnorderedElementsAreArray(expected));
  }
}

TEST(CallWays, OfAOnewayCallHaveNoReply) {
  FunctionSpec get{.name = "get", .oneway = true};
  get.hints.both.protocol = "write_rndv";
  FakePair pair(get);
  const FakePair::WirePointer client = pair.connect_client();
  for (int i = 0; i < 2; ++i) EXPECT_EQ(pair.call(client, get_call(), ""), "");
  EXPECT_THAT(counted(pair.caller().metrics), ElementsAre("1 write_rndv / none", "1 tcp / none"));
}

// Two workers, and a client whose first call used TCP and opened a lane. Its second call is on the
// lane and has no reply yet.
struct CallOnALane {
  CallOnALane() {
    EXPECT_EQ(pair.call(client, get_call(), get_reply()), get_reply());
    client->incoming += get_call();
    FakeNode::read(client);
    pair.pass(50ms);
  }
  static FunctionSpec on_rdma() {
    FunctionSpec get{.name = "get"};
    get.hints.both.protocol = "direct_write_imm";
    return get;
  }
  FakePair pair{on_rdma()};
  const FakePair::WirePointer client = pair.connect_client();
};

TEST(CallWays, OfACallThatEndsWithItsLaneHaveNoReply) {
  CallOnALane call;
  auto& [pair, client] = call;
  pair.server().worker.reset();  // the link's TCP connection stays open, without a far end
  pair.pass(OutboundStream::kResumeWait + 50ms);
  EXPECT_THAT(client->written, testing::HasSubstr("link_lost"));
  EXPECT_THAT(counted(pair.caller().metrics),
              testing::UnorderedElementsAre("1 direct_write_imm / none", "1 tcp / tcp"));
}

// A peer that breaks the rules can reply elsewhere than on the call's lane.
TEST(CallWays, NameTheLaneOfTheReplyOnlyIfItIsTheLaneOfTheCall) {
  const engine::ProtocolId rfp = *engine::find_protocol("rfp");
  const PeerLanes::Choice over_tcp;
  const PeerLanes::Choice by_rfp{.lane = 5, .request = rfp, .response = rfp};
  EXPECT_EQ(name(carrier_of_reply(over_tcp, {})), "tcp");
  EXPECT_EQ(name(carrier_of_reply(over_tcp, {5, engine::Leg::kFetch0})), "none");
  EXPECT_EQ(name(carrier_of_reply(by_rfp, {5, engine::Leg::kFetch0})), "rfp");
  EXPECT_EQ(name(carrier_of_reply(by_rfp, {6, engine::Leg::kFetch0})), "none");
  EXPECT_EQ(name(carrier_of_reply(by_rfp, {})), "tcp");
}

TEST(CallWays, OfACallOnALaneWhoseReplyCameOverTcp) {
  CallOnALane call;
  auto& [pair, client] = call;
  pair.receive_over_tcp(
      frame_bytes({.kind = FrameKind::kReply, .flags = engine::kLastPiece, .stream = 1, .call = 2},
                  get_reply()));
  EXPECT_EQ(client->written, get_reply());
  EXPECT_THAT(counted(pair.caller().metrics),
              testing::UnorderedElementsAre("1 direct_write_imm / tcp", "1 tcp / tcp"));
}

// --- How calls end ---

class CallsOverTcp {
 public:
  CallsOverTcp() { node.receive(peer, hello_bytes("host-b", "")); }
  void from_peer(FrameHeader header, const std::string& payload = "") {
    header.stream = 1;
    header.call = 1;
    node.receive(peer, frame_bytes(header, payload));
  }
  void fails() {
    const engine::FailMeta meta{engine::Failure::kUpstreamClosed, 1};
    from_peer({.kind = FrameKind::kFail, .replies = 1},
              std::string(reinterpret_cast<const char*>(&meta), sizeof meta));
  }

  FakeNode node;
  FakeNode::Wire peer = node.peer_wire();
  FakeNode::Wire client = node.connect_client();
};

// Returns a message `get` whose name is replaced by `put`, which no manifest lists.
std::string put_message(char type) {
  std::string message = get_message(type, 1, 8);
  return message.replace(message.find("get"), 3, "put");
}

struct Ending {
  const char* what;
  std::string request;
  void (*end)(CallsOverTcp& calls);
  const char* expected;  // null: the call does not count
};

const Ending kEndings[] = {
    {"with a reply", get_call(),
     [](CallsOverTcp& calls) {
       calls.from_peer({.kind = FrameKind::kReply, .flags = engine::kLastPiece}, "reply");
     },
     "1 tcp / tcp"},
    {"with a reply in pieces", get_call(),
     [](CallsOverTcp& calls) {
       calls.from_peer({.kind = FrameKind::kReply}, "the first");
       EXPECT_THAT(counted(calls.node.metrics), IsEmpty()) << "the call has not ended";
       calls.from_peer({.kind = FrameKind::kMore, .flags = engine::kLastPiece}, "last");
     },
     "1 tcp / tcp"},
    {"with a failure", get_call(), [](CallsOverTcp& calls) { calls.fails(); }, "1 tcp / none"},
    {"with a failure within the reply", get_call(),
     [](CallsOverTcp& calls) {
       calls.from_peer({.kind = FrameKind::kReply}, "a part");
       calls.fails();
     },
     "1 tcp / none"},
    {"without a reply of the server", get_call(),
     [](CallsOverTcp& calls) {
       calls.from_peer({.kind = FrameKind::kReply, .flags = engine::kLastPiece | engine::kNoReply});
     },
     "1 tcp / none"},
    {"as a oneway call of a function that nobody lists", put_message('\1'),
     [](CallsOverTcp& calls) {
       calls.from_peer({.kind = FrameKind::kReply, .flags = engine::kLastPiece | engine::kNoReply});
     },
     "1 tcp / none"},
    {"as a oneway call", put_message('\4'), [](CallsOverTcp&) {}, "1 tcp / none"},
    {"with the link", get_call(),
     [](CallsOverTcp& calls) {
       calls.peer->end = true;
       FakeNode::read(calls.peer);
     },
     "1 tcp / none"},
    {"with the client's connection", get_call(),
     [](CallsOverTcp& calls) {
       calls.client->error = ECONNRESET;
       FakeNode::read(calls.client);
     },
     "1 tcp / none"},
    {"when its connection becomes opaque", get_call(),
     [](CallsOverTcp& calls) { calls.node.receive(calls.client, "\x16\x03\x01 TLS"); },
     "1 tcp / none"},
    {"with its deadline", get_call(), [](CallsOverTcp& calls) { calls.node.reactor.advance(2s); },
     "1 tcp / none"},
    {"in the middle of the request", get_call(100).substr(0, 60),
     [](CallsOverTcp& calls) {
       calls.client->end = true;
       FakeNode::read(calls.client);
     },
     "1 tcp / none"},
    {"before a part of it was sent", std::string("\x7f\xff\xff\xff", 4) + get_call().substr(4),
     [](CallsOverTcp&) {}, nullptr},
};

TEST(CallWays, CountACallOnceWhenItEnds) {
  for (const Ending& row : kEndings) {
    SCOPED_TRACE(row.what);
    CallsOverTcp calls;
    calls.node.receive(calls.client, row.request);
    row.end(calls);
    calls.node.reactor.end_iteration();
    if (row.expected == nullptr) {
      EXPECT_THAT(counted(calls.node.metrics), IsEmpty());
    } else {
      EXPECT_THAT(counted(calls.node.metrics), ElementsAre(row.expected));
    }
  }
}

TEST(CallWays, CountACallBeforeItsClientHasTheWholeReply) {
  CallsOverTcp calls;
  std::vector<std::vector<std::string>> seen;  // what was counted when the client got each piece
  calls.client->on_write = [&] { seen.push_back(counted(calls.node.metrics)); };
  calls.node.receive(calls.client, get_call());
  calls.from_peer({.kind = FrameKind::kReply}, "the first");
  calls.from_peer({.kind = FrameKind::kMore, .flags = engine::kLastPiece}, "last");
  EXPECT_THAT(seen, ElementsAre(IsEmpty(), ElementsAre("1 tcp / tcp")));
}

}  // namespace
}  // namespace hat
