// SPDX-License-Identifier: Apache-2.0
// daemon/admin/traffic_json_test.cc: the answers of /peers, /connections and /explain.
#include <gmock/gmock.h>

#include "daemon/admin/connections_json.h"
#include "daemon/admin/explain_json.h"
#include "daemon/admin/fake_control.h"
#include "daemon/admin/peers_json.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::ElementsAre;
using testing::Pair;

PeerReport report_of_peer(size_t worker, const char* peer, engine::LinkState state) {
  PeerReport report{.worker = worker};
  report.status.peer = peer;
  report.status.address = "tcp:10.0.0.2:7471";
  report.status.state = state;
  return report;
}

TEST(PeersJson, APeerHasTheLinksOfAllWorkers) {
  FakeControl control;
  control.config.endpoints = {{*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b", "host-c"}}};
  PeerReport up = report_of_peer(0, "host-b", engine::LinkState::kUp);
  up.status.node = "host-b";
  up.status.link_version = 9;
  up.status.in_state = 1500ms;
  up.status.unanswered = 3;
  up.status.oldest = 12s;
  up.status.calls = 10;
  up.status.streams = 2;
  up.status.lanes = {{"rfp", true, "up", "", 1}};
  PeerReport down = report_of_peer(1, "host-b", engine::LinkState::kDown);
  down.status.in_state = 2s;
  down.status.last_error = "no route";
  down.status.calls = 5;
  down.status.avoided = {
      {"host-b", "tcp:127.0.0.1:9090",
       EjectionStatus{
           .state = EjectionStatus::State::kEjected, .left = 750ms, .why = "upstream_unreachable"}},
      {"host-b", "tcp:127.0.0.1:9091", SlowStatus{.times = 9.83f, .until_trial = 3s}}};
  control.peer_reports = {up, report_of_peer(0, "host-c", engine::LinkState::kIdle), down};
  const json answer = peers_json(control);
  ASSERT_EQ(answer.at("peers").size(), 2u);
  const json& first = answer.at("peers").at(0);
  EXPECT_EQ(first.at("peer"), "host-b");
  EXPECT_EQ(first.at("link_version"), 9);
  EXPECT_EQ(first.at("calls"), 15);
  EXPECT_EQ(first.at("unanswered"), 3);
  EXPECT_EQ(first.at("oldest_unanswered_s"), 12.0);
  EXPECT_EQ(first.at("streams"), 2);
  EXPECT_EQ(first.at("endpoints"), json({{{"listen", "tcp:127.0.0.1:9090"}, {"service", "Kv"}}}));
  EXPECT_EQ(first.at("workers").at(0).at("in_state_s"), 1.5);
  EXPECT_EQ(first.at("workers").at(0).at("lanes").at(0).at("class"), "latency");
  EXPECT_EQ(first.at("workers").at(1).at("last_error"), "no route");
  EXPECT_EQ(first.at("avoided"), json({{{"worker", 1},
                                        {"endpoint", "tcp:127.0.0.1:9090"},
                                        {"state", "ejected"},
                                        {"left_s", 0.75},
                                        {"failures", 0},
                                        {"why", "upstream_unreachable"}},
                                       {{"worker", 1},
                                        {"endpoint", "tcp:127.0.0.1:9091"},
                                        {"state", "slow"},
                                        {"left_s", 3.0},
                                        {"failures", 0},
                                        {"why", ""},
                                        {"times", 9.8}}}));
  const json& second = answer.at("peers").at(1);
  EXPECT_EQ(second.at("link_version"), nullptr);
  EXPECT_EQ(second.at("oldest_unanswered_s"), nullptr);
  EXPECT_EQ(second.at("workers").at(0).at("in_state_s"), nullptr) << "nobody needs the link";
}

TEST(PeersJson, SaysWhatTheWorkersDidNotReport) {
  FakeControl control;
  control.silent_workers = 1;
  control.left_out = 5;
  for (const json& answer : {peers_json(control), avoided_peers_json(control)}) {
    EXPECT_EQ(answer.at("workers"), FakeControl::kWorkers);
    EXPECT_EQ(answer.at("workers_silent"), 1);
    EXPECT_EQ(answer.at("left_out"), 5);
    EXPECT_EQ(control.most_reports, kReportsMost / FakeControl::kWorkers);
  }
}

TEST(PeersJson, TheShortAnswerHasThePeersThatCallsAvoid) {
  FakeControl control;
  const AvoidedPeer avoided{"host-b", "tcp:127.0.0.1:9090",
                            EjectionStatus{.left = 0s, .failures = 2, .why = "overloaded"}};
  const AvoidedPeer slow{"host-b", "tcp:127.0.0.1:9090", SlowStatus{.times = 16}};
  control.avoided_reports = {{1, avoided}, {0, slow}};
  const json peers = avoided_peers_json(control).at("peers");
  ASSERT_EQ(peers.size(), 1u);
  EXPECT_EQ(peers.at(0).at("peer"), "host-b");
  ASSERT_EQ(peers.at(0).at("avoided").size(), 2u);
  EXPECT_EQ(peers.at(0).at("avoided").at(0).at("worker"), 1);
  EXPECT_EQ(peers.at(0).at("avoided").at(0).at("state"), "failing");
  EXPECT_EQ(peers.at(0).at("avoided").at(1).at("state"), "slow");
}

ConnectionReport connection_with(size_t worker, uint64_t calls, size_t buffered) {
  ConnectionReport report{.worker = worker};
  report.status.calls = calls;
  report.status.buffered = buffered;
  return report;
}

TEST(ConnectionsJson, TheFirstOnesOfAllWorkersAreShown) {
  FakeControl control;
  control.connection_reports = {
      .silent = 1,
      .open = 10'000,
      .longest = 1500us,
      .shown = {connection_with(0, 9, 1), connection_with(0, 5, 8), connection_with(1, 7, 3)}};
  control.connection_reports.shown[0].client.pid = 4711;
  const auto answer = connections_json(control, "", "2");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->at("workers"), FakeControl::kWorkers);
  EXPECT_EQ(answer->at("workers_silent"), 1);
  EXPECT_EQ(answer->at("open"), 10'000);
  EXPECT_EQ(answer->at("worker_us"), 1500);
  EXPECT_EQ(answer->at("order"), "calls");
  ASSERT_EQ(answer->at("connections").size(), 2u);
  EXPECT_EQ(answer->at("connections").at(0).at("calls"), 9);
  EXPECT_EQ(answer->at("connections").at(0).at("pid"), 4711);
  EXPECT_EQ(answer->at("connections").at(1).at("calls"), 7);
  EXPECT_EQ(answer->at("connections").at(1).at("pid"), nullptr);
  const auto by_bytes = connections_json(control, "buffered", "");
  EXPECT_EQ(by_bytes->at("connections").at(0).at("buffered"), 8);
  EXPECT_THAT(control.asked_for_connections,
              ElementsAre(Pair(ConnectionOrder::kCalls, 2),
                          Pair(ConnectionOrder::kBuffered, kConnectionsShown)));
}

TEST(ConnectionsJson, OtherParametersAreRefused) {
  FakeControl control;
  for (const char* top : {"0", "-1", "1001", "many", "1e3", "99999999999999999999"}) {
    EXPECT_FALSE(connections_json(control, "", top)) << top;
  }
  EXPECT_FALSE(connections_json(control, "size", ""));
  EXPECT_TRUE(control.asked_for_connections.empty()) << "no worker was asked";
}

TEST(ExplainJson, AFunctionHasItsHintsAndTheirGroups) {
  FakeControl control;
  HintGroups of_function;
  of_function.client.payload_bytes = 64;
  of_function.both.timeout = 20ms;
  HintGroups of_service;
  of_service.both.perf_goal = PerfGoal::kLatency;
  control.set_manifest({"", {{"Kv", of_service, {{"get", false, of_function, ""}}, ""}}});
  control.config.limits = default_limits();
  const auto page = explain_json(control, "Kv", "get");
  ASSERT_TRUE(page);
  const auto hint = [](const char* of, const char* group, const char* key, const char* value) {
    return json{{"of", of}, {"group", group}, {"key", key}, {"value", value}};
  };
  EXPECT_EQ(page->at("hints"), json({hint("function", "hint", "timeout_ms", "20"),
                                     hint("function", "c_hint", "payload_size", "64B"),
                                     hint("service", "hint", "perf_goal", "latency")}));
  EXPECT_EQ(page->at("deadline"), json({{"ms", 20}, {"from", "timeout_ms"}}));
  EXPECT_EQ(page->at("priority"), "normal");
  EXPECT_EQ(page->at("serves"), nullptr);
  EXPECT_EQ(page->at("ways"), json::array());
}

TEST(ExplainJson, AWayHasWhatCarriesACallNow) {
  FakeControl control;
  WayToPeer way{.endpoint = "tcp:127.0.0.1:9090",
                .peer = "host-b",
                .state = engine::LinkState::kUp,
                .candidacy = Candidacy::kOverflow,
                .is_slow = true};
  way.small = CarrierNow{.protocols = "rfp"};
  way.large = CarrierNow{.why = Fallback::kRefused, .last_error = "no memory"};
  control.way_reports = {{1, way}};
  const json shown = explain_json(control, "Kv", "get")->at("ways").at(0);
  EXPECT_EQ(shown.at("candidate"), true);
  EXPECT_EQ(shown.at("overflow"), true);
  EXPECT_EQ(shown.at("slow"), true);
  EXPECT_EQ(shown.at("ejection"), nullptr);
  EXPECT_EQ(shown.at("small"),
            json({{"protocols", "rfp"}, {"why", ""}, {"last_error", ""}, {"opens", false}}));
  EXPECT_EQ(
      shown.at("large"),
      json({{"protocols", ""}, {"why", "refused"}, {"last_error", "no memory"}, {"opens", false}}));
}

TEST(ExplainJson, SaysWhichEndpointsHaveTheService) {
  FakeControl control;
  control.config.endpoints = {{*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b"}},
                              {*parse_address("tcp:127.0.0.1:9091"), "Log", {"host-b", "host-c"}}};
  control.silent_workers = 1;
  const auto page = explain_json(control, "Kv", "get");
  EXPECT_EQ(page->at("endpoints"), json::array({"tcp:127.0.0.1:9090"}));
  EXPECT_EQ(page->at("several_peers"), true);
  EXPECT_EQ(page->at("workers_silent"), 1);
  control.config.endpoints.pop_back();
  EXPECT_EQ(explain_json(control, "Kv", "get")->at("several_peers"), false);
}

TEST(ExplainJson, CountsTheFunctionsSlowCalls) {
  FakeControl control;
  FunctionMetrics& get = control.registry.find("Kv", "get");
  FunctionMetrics& put = control.registry.find("Kv", "put");
  const auto slow = [](FunctionMetrics& function, Duration took) -> SlowCallReport {
    return {0, 0, {.counters = &function.at(Side::kClient, 0), .took = took}};
  };
  control.slow_reports = {slow(get, 3ms), slow(put, 90ms), slow(get, 5ms)};
  EXPECT_EQ(explain_json(control, "Kv", "get")->at("slow"),
            json({{"kept", 3}, {"of_function", 2}, {"slowest_us", 5000.0}}));
}

TEST(ExplainJson, AnUnknownFunctionHasNoPage) {
  FakeControl control;
  EXPECT_FALSE(explain_json(control, "Kv", "nothing"));
  EXPECT_FALSE(explain_json(control, "Nothing", "get"));
  EXPECT_TRUE(explain_json(control, "Kv", "_other"));
}

}  // namespace
}  // namespace hat
