// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/worker_status_test.cc: what a worker reports of its peers and of its clients'
// connections, and of the way that a call would take.
#include "daemon/proxy/worker_status.h"

#include <gmock/gmock.h>

#include "daemon/proxy/fake_pair.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::Ge;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

FunctionSpec latency_get() {
  FunctionSpec get{.name = "get"};
  get.hints.both.perf_goal = PerfGoal::kLatency;
  return get;
}

TEST(WorkerStatus, APeerHasItsLinkAndItsCalls) {
  FakePair pair;
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply());
  pair.send(client, get_call());
  pair.pass(50ms);
  const std::vector<PeerStatus> peers = pair.caller().worker->peer_status().shown;
  ASSERT_THAT(peers, SizeIs(1));
  const PeerStatus& peer = peers.front();
  EXPECT_EQ(peer.peer, "host-b");
  EXPECT_EQ(peer.node, "host-b");
  EXPECT_EQ(peer.address, "tcp:127.0.0.1:9465");
  EXPECT_EQ(peer.state, engine::LinkState::kUp);
  EXPECT_THAT(peer.in_state, AllOf(Ge(100ms), Le(300ms)));
  EXPECT_EQ(peer.link_version, engine::kLinkVersion);
  EXPECT_EQ(peer.calls, 2u);
  EXPECT_EQ(peer.unanswered, 1u);
  EXPECT_EQ(peer.streams, 1u);
  EXPECT_THAT(peer.avoided, IsEmpty());
  pair.caller_link()->end = true;
  pair.caller_link()->notify_readable();
  pair.reactor().advance(2s);
  const PeerStatus down = pair.caller().worker->peer_status().shown.front();
  EXPECT_EQ(down.state, engine::LinkState::kDown);
  EXPECT_GE(down.in_state, 2s);
  EXPECT_EQ(down.link_version, 0u);
  EXPECT_EQ(down.node, "");
  EXPECT_NE(down.last_error, "");
  EXPECT_EQ(down.calls, 2u) << "the count is that since the start";
}

TEST(WorkerStatus, APeerOfAnOlderVersionHasTheVersionThatBothKnow) {
  FakePair pair({.name = "get"}, {.link_version = 6});
  EXPECT_EQ(pair.caller().worker->peer_status().shown.front().link_version, 6u);
}

TEST(WorkerStatus, AConnectionHasItsCallsAndBytes) {
  FakePair pair;
  const auto client = pair.connect_client();
  EXPECT_EQ(pair.caller().worker->connection_status(ConnectionOrder::kCalls, 1).shown[0].protocol,
            "")
      << "no byte has come";
  pair.call(client, get_call(), get_reply());
  pair.send(client, get_call());
  const ConnectionList list = pair.caller().worker->connection_status(ConnectionOrder::kCalls, 10);
  EXPECT_EQ(list.open, 1u);
  ASSERT_THAT(list.shown, SizeIs(1));
  const ConnectionStatus& one = list.shown.front();
  EXPECT_EQ(one.endpoint, "tcp:127.0.0.1:9090");
  EXPECT_EQ(one.service, "Kv");
  EXPECT_EQ(one.protocol, "framed binary");
  EXPECT_EQ(one.peer, "host-b");
  EXPECT_TRUE(one.has_own_server) << "the service is mirrored";
  EXPECT_EQ(one.waits, "");
  EXPECT_EQ(one.calls, 2u);
  EXPECT_EQ(one.unanswered, 1u);
  EXPECT_EQ(one.bytes_in, 2 * get_call().size());
  EXPECT_EQ(one.bytes_out, get_reply().size());
  EXPECT_EQ(one.buffered, 0u);
  EXPECT_THAT(one.age, AllOf(Ge(100ms), Le(300ms)));
}

TEST(WorkerStatus, AConnectionWithoutALinkWaits) {
  FakePair pair;
  pair.caller_link()->end = true;
  pair.caller_link()->notify_readable();
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  const auto list = pair.caller().worker->connection_status(ConnectionOrder::kAge, 10);
  ASSERT_THAT(list.shown, SizeIs(1));
  EXPECT_EQ(list.shown[0].waits, "link");
  EXPECT_EQ(list.shown[0].peer, "");
  EXPECT_EQ(list.shown[0].carrier, "");
  EXPECT_EQ(list.shown[0].buffered, get_call().size());
}

TEST(WorkerStatus, ACallThatWaitsForItsReplyIsReported) {
  FakePair pair;
  const Worker& worker = *pair.caller().worker;
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(kWaitingAtLeast - 20ms);
  EXPECT_THAT(worker.unanswered_calls(10).shown, IsEmpty()) << "the call is young";
  EXPECT_FALSE(worker.peer_status().shown[0].oldest);
  pair.pass(300ms);
  const UnansweredList list = worker.unanswered_calls(10);
  ASSERT_THAT(list.shown, SizeIs(1));
  const UnansweredCalls& one = list.shown.front();
  EXPECT_EQ(one.service, "Kv");
  EXPECT_EQ(one.method, "get");
  EXPECT_EQ(one.peer, "host-b");
  EXPECT_EQ(one.waits_for, WaitsFor::kReply);
  EXPECT_FALSE(one.may_be_oneway);
  EXPECT_EQ(one.calls, 1u);
  EXPECT_THAT(one.oldest, AllOf(Ge(370ms), Le(390ms)));
  EXPECT_EQ(worker.peer_status().shown[0].oldest, one.oldest);
  pair.answer(client, get_reply());
  EXPECT_THAT(worker.unanswered_calls(10).shown, IsEmpty());
  EXPECT_FALSE(worker.peer_status().shown[0].oldest);
}

TEST(WorkerStatus, WaitingCallsHaveTheCauseOfTheWait) {
  FakePair pair;
  const auto first = pair.connect_client();
  pair.send(first, get_call(1000).substr(0, 500));
  pair.pass(200ms);
  const auto second = pair.connect_client();
  pair.send(second, get_call());
  pair.pass(200ms);
  const Worker& worker = *pair.caller().worker;
  UnansweredList list = worker.unanswered_calls(10);
  ASSERT_THAT(list.shown, SizeIs(2));
  EXPECT_EQ(list.shown[0].waits_for, WaitsFor::kRestOfRequest) << "the oldest one comes first";
  EXPECT_EQ(list.shown[1].waits_for, WaitsFor::kReply);
  list = worker.unanswered_calls(1);
  EXPECT_THAT(list.shown, SizeIs(1));
  EXPECT_EQ(list.left_out, 1u);
}

TEST(WorkerStatus, TheCallsOfManyClientsAreOneReport) {
  FakePair pair;
  for (int i = 0; i < 3; ++i) pair.send(pair.connect_client(), get_call());
  pair.pass(200ms);
  const auto shown = pair.caller().worker->unanswered_calls(10).shown;
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].calls, 3u);
}

TEST(WorkerStatus, AWaitingCallThatWasNotSentHasNoPeer) {
  FakePair pair;
  pair.caller_link()->end = true;
  pair.caller_link()->notify_readable();
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.reactor().advance(150ms);
  const auto shown = pair.caller().worker->unanswered_calls(10).shown;
  ASSERT_THAT(shown, SizeIs(1));
  EXPECT_EQ(shown[0].peer, "");
  EXPECT_EQ(shown[0].waits_for, WaitsFor::kToBeSent);
}

TEST(WorkerStatus, AOnewayCallWaitsForNothing) {
  FakePair pair({.name = "get", .oneway = true});
  pair.send(pair.connect_client(), get_message('\4', 1, 8));
  pair.pass(200ms);
  EXPECT_THAT(pair.caller().worker->unanswered_calls(10).shown, IsEmpty());
}

TEST(WorkerStatus, BytesThatAreNotThriftAreOpaque) {
  FakePair pair;
  const auto client = pair.connect_client();
  pair.send(client, "GET / HTTP/1.1\r\n\r\n");
  const auto list = pair.caller().worker->connection_status(ConnectionOrder::kBytes, 1);
  EXPECT_EQ(list.shown.at(0).protocol, "opaque (http)");
}

// The list of all connections is sorted in one go, so its cost must stay small. The bound is
// generous, for machines that are busy; docs/reference.md has the time.
TEST(WorkerStatus, OfManyConnectionsTheFirstOnesAreReported) {
  FakePair pair;
  constexpr size_t kMany = 5'000;
  for (size_t i = 0; i < kMany; ++i) pair.connect_client();
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply());
  const auto begin = std::chrono::steady_clock::now();
  const auto list = pair.caller().worker->connection_status(ConnectionOrder::kCalls, 20);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  RecordProperty("milliseconds", std::to_string(took.count()));
  EXPECT_LT(took.count(), 1000);
  EXPECT_EQ(list.open, kMany + 1);
  ASSERT_THAT(list.shown, SizeIs(20));
  EXPECT_EQ(list.shown.front().calls, 1u);
  EXPECT_EQ(list.shown.back().calls, 0u);
}

TEST(WorkerStatus, AWayHasTheLaneThatACallWouldUse) {
  FakePair pair(latency_get());
  const Worker& worker = *pair.caller().worker;
  std::vector<WayToPeer> ways = worker.ways_of("Kv", "get").shown;
  ASSERT_THAT(ways, SizeIs(1));
  EXPECT_EQ(ways[0].peer, "host-b");
  EXPECT_EQ(ways[0].candidacy, Candidacy::kYes);
  ASSERT_TRUE(ways[0].small);
  EXPECT_EQ(ways[0].small->protocols, "");
  EXPECT_EQ(ways[0].small->why, Fallback::kOpening);
  EXPECT_TRUE(ways[0].small->is_first_call) << "asking opens no lane";
  EXPECT_THAT(worker.peer_status().shown[0].lanes, IsEmpty());
  const auto client = pair.connect_client();
  pair.call(client, get_call(), get_reply());
  pair.call(client, get_call(), get_reply());
  ways = worker.ways_of("Kv", "get").shown;
  const std::string up = ways[0].small->protocols;
  EXPECT_NE(up, "");
  EXPECT_EQ(worker.connection_status(ConnectionOrder::kCalls, 1).shown[0].carrier, up);
  EXPECT_EQ(worker.peer_status().shown[0].lanes.at(0).protocol, up);
}

TEST(WorkerStatus, AWayToAnEjectedPeerHasTheReason) {
  FakePair pair({.name = "get"}, {.is_one_of_two = true});
  const auto client = pair.connect_client();
  pair.send(client, get_call());
  pair.pass(100ms);  // the client waits for the first attempt to reach host-c
  const engine::FailMeta meta{engine::Failure::kUpstreamUnreachable, 1};
  pair.receive_over_tcp(
      frame_bytes({.kind = engine::FrameKind::kFail, .replies = 1, .stream = 1, .call = 1},
                  std::string(reinterpret_cast<const char*>(&meta), sizeof meta)));
  const Worker& worker = *pair.caller().worker;
  const auto ways = worker.ways_of("Kv", "get").shown;
  ASSERT_THAT(ways, SizeIs(2));
  EXPECT_EQ(ways[0].peer, "host-b");
  EXPECT_TRUE(ways[0].is_avoided);
  EXPECT_EQ(ways[0].candidacy, Candidacy::kYes) << "no other peer is left";
  ASSERT_TRUE(ways[0].ejection);
  EXPECT_EQ(ways[0].ejection->state, EjectionStatus::State::kEjected);
  EXPECT_EQ(ways[0].ejection->why, "upstream_unreachable");
  const auto avoided = worker.peer_status().shown[0].avoided;
  ASSERT_THAT(avoided, SizeIs(1));
  EXPECT_EQ(avoided[0].endpoint, "tcp:127.0.0.1:9090");
  EXPECT_EQ(avoided[0].peer, "host-b");
  ASSERT_THAT(worker.avoided_peers(), SizeIs(1));
  EXPECT_EQ(worker.avoided_peers()[0].peer, "host-b");
  EXPECT_THAT(worker.peer_status().shown[1].avoided, IsEmpty());
  EXPECT_EQ(ways[1].peer, "host-c");
  EXPECT_EQ(ways[1].candidacy, Candidacy::kNo) << "its link is not up";
  EXPECT_FALSE(ways[1].small);
  const auto none = worker.ways_of("Nothing", "get").shown;
  EXPECT_THAT(none, IsEmpty());
}

TEST(WorkerStatus, AListHasAtMostTheReportsThatWereAskedFor) {
  FakePair pair({.name = "get"}, {.is_one_of_two = true});
  const Worker& worker = *pair.caller().worker;
  const PeerList peers = worker.peer_status(1);
  ASSERT_THAT(peers.shown, SizeIs(1));
  EXPECT_EQ(peers.shown[0].peer, "host-b");
  EXPECT_EQ(peers.left_out, 1u);
  EXPECT_EQ(worker.peer_status(2).left_out, 0u);
  const WayList ways = worker.ways_of("Kv", "get", 1);
  ASSERT_THAT(ways.shown, SizeIs(1));
  EXPECT_EQ(ways.shown[0].candidacy, Candidacy::kYes);
  EXPECT_EQ(ways.left_out, 1u);
}

}  // namespace
}  // namespace hat
