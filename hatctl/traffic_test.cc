// SPDX-License-Identifier: Apache-2.0
// hatctl/traffic_test.cc: the pages of `hatctl peers`, `hatctl connections` and `hatctl explain`.
#include <gmock/gmock.h>

#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::ContainsRegex;
using testing::EndsWith;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;
using testing::StartsWith;

const Terminal kUnlimited;

json link_of_worker(const char* state, double seconds, const char* error = "") {
  return {{"worker", 0},   {"state", state},      {"in_state_s", seconds},
          {"sessions", 1}, {"last_error", error}, {"unanswered", 0},
          {"calls", 0},    {"streams", 0},        {"lanes", json::array()}};
}

json peer_row(const char* name, std::vector<json> links) {
  return {{"peer", name},
          {"address", "tcp:10.0.0.2:7471"},
          {"group", ""},
          {"node", name},
          {"names", json::array()},
          {"zone", ""},
          {"is_near", false},
          {"weight", 1},
          {"link_version", 9},
          {"endpoints", {{{"listen", "tcp:127.0.0.1:9090"}, {"service", "Kv"}}}},
          {"unanswered", 3},
          {"calls", 12'345},
          {"streams", 2},
          {"workers", std::move(links)},
          {"avoided", json::array()}};
}

json peers_answer(std::vector<json> peers) {
  return {{"link_security", "tls"},
          {"workers", 2},
          {"workers_silent", 0},
          {"left_out", 0},
          {"peers", std::move(peers)}};
}

// Returns the line of the page that begins with this word.
std::string line_that_begins_with(const std::string& page, const std::string& word) {
  const size_t at = page.find("\n" + word);
  if (at == std::string::npos) return "";
  return page.substr(at + 1, page.find('\n', at + 1) - at - 1);
}

TEST(Peers, ALineHasTheLinksOfAllWorkers) {
  json near = peer_row("host-b", {link_of_worker("up", 70), link_of_worker("up", 30)});
  near["zone"] = "east";
  near["is_near"] = true;
  near["workers"][0]["lanes"] = {{{"protocol", "rfp"}, {"state", "up"}}};
  near["workers"][1]["lanes"] = {{{"protocol", "rfp"}, {"state", "refused"}}};
  const std::string text = peers_text(
      peers_answer(
          {near,
           peer_row("host-c", {link_of_worker("up", 70), link_of_worker("down", 5, "no route")}),
           peer_row("host-d", {link_of_worker("down", 5, "refused"), link_of_worker("idle", 0)}),
           peer_row("host-e", {link_of_worker("connecting", 0.1)}),
           peer_row("host-f", {link_of_worker("idle", 0)})}),
      kUnlimited);
  EXPECT_THAT(line_that_begins_with(text, "host-b"),
              MatchesRegex("host-b  tcp:10.0.0.2:7471  up 1 min 10 s +9 +1 rfp, 1 rfp .refused. +2 "
                           "+3 +12.3k +1 +east .near."));
  EXPECT_THAT(line_that_begins_with(text, "host-c"), HasSubstr("up 1/2"));
  EXPECT_THAT(line_that_begins_with(text, "host-d"), HasSubstr("down 5 s"));
  EXPECT_THAT(line_that_begins_with(text, "host-e"), HasSubstr("connecting"));
  EXPECT_THAT(line_that_begins_with(text, "host-f"), HasSubstr("  idle  "));
  EXPECT_THAT(text, HasSubstr("\nhost-c       no route\nhost-d       refused\n"));
  EXPECT_THAT(text, HasSubstr("links use TLS 1.3"));
  EXPECT_THAT(line_that_begins_with(text, "tcp:127.0.0.1:9090"),
              HasSubstr("host-b, host-c, host-d, host-e, host-f"));
}

TEST(Peers, ShowsForHowLongTheOldestCallWaits) {
  json waits = peer_row("host-b", {link_of_worker("up", 70)});
  waits["oldest_unanswered_s"] = 12.34;
  json none = peer_row("host-c", {link_of_worker("up", 70)});
  none["oldest_unanswered_s"] = nullptr;
  const json older = peer_row("host-d", {link_of_worker("up", 70)});
  const std::string text = peers_text(peers_answer({waits, none, older}), kUnlimited);
  EXPECT_THAT(line_that_begins_with(text, "host-b"), HasSubstr(" 3 (12.3 s) "));
  for (const char* peer : {"host-c", "host-d"}) {
    EXPECT_THAT(line_that_begins_with(text, peer), AllOf(HasSubstr(" 3 "), Not(HasSubstr("("))));
  }
}

TEST(Peers, ShowsForHowLongCallsAvoidAPeerAndWhy) {
  json failing = peer_row("host-b", {link_of_worker("up", 70)});
  const auto avoided = [](const char* state, double left, int failures) -> json {
    return {{"worker", 1},          {"endpoint", "tcp:127.0.0.1:9090"},
            {"state", state},       {"left_s", left},
            {"failures", failures}, {"why", "upstream_unreachable"}};
  };
  failing["avoided"] = {avoided("ejected", 4.25, 0), avoided("due", 0, 0), avoided("tried", 1, 0),
                        avoided("failing", 0, 2)};
  const std::string text = peers_text(peers_answer({failing}), kUnlimited);
  for (const char* now : {"ejected for 4.25 s", "ejected until the next call, a trial", "on trial",
                          "used; 2 failures in a row"}) {
    EXPECT_THAT(text, HasSubstr(std::string("1  ") + now));
  }
  EXPECT_THAT(text, HasSubstr("upstream_unreachable"));
}

TEST(Peers, ShowsHowSlowASlowPeerIs) {
  json slow = peer_row("host-b", {link_of_worker("up", 70)});
  const auto avoided = [](int worker, double times, double left) -> json {
    return {{"worker", worker}, {"endpoint", "tcp:127.0.0.1:9090"},
            {"state", "slow"},  {"left_s", left},
            {"failures", 0},    {"why", ""},
            {"times", times}};
  };
  slow["avoided"] = {avoided(0, 9.8, 3.25), avoided(1, 16, 0)};
  const std::string text = peers_text(peers_answer({slow}), kUnlimited);
  EXPECT_THAT(text, HasSubstr("\nSLOW PEER  ENDPOINT            WORKER  CALLS TAKE "));
  EXPECT_THAT(text, ContainsRegex("  0  9.8 times as long +in 3.25 s or later\n"));
  EXPECT_THAT(text, ContainsRegex("  1  16 or more times as long +soon\n"));
  EXPECT_THAT(text, Not(HasSubstr("CALLS FAILED AT")));
}

TEST(Peers, ControlCharactersDoNotReachTheTerminal) {
  json odd = peer_row("host-b", {link_of_worker("down", 5, "refused\x1b[31m\nhost-z fine")});
  odd["avoided"] = {{{"worker", 0},
                     {"endpoint", "unix:/a\x1b"},
                     {"state", "tried"},
                     {"left_s", 0},
                     {"failures", 0},
                     {"why", ""}}};
  const std::string text = peers_text(peers_answer({odd}), kUnlimited);
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
  EXPECT_THAT(text, HasSubstr("refused?[31m?host-z fine"));
}

TEST(Peers, ANodeWithoutPeersHasASentence) {
  EXPECT_EQ(peers_text(peers_answer({}), kUnlimited), "the configuration has no peers\n");
}

constexpr const char* kOneIsSilent =
    "1 of 2 workers did not answer in time; this list lacks them\n";

TEST(Peers, AWorkerThatDoesNotAnswerIsNamed) {
  json none = peers_answer({});
  none["workers_silent"] = 1;
  EXPECT_EQ(peers_text(none, kUnlimited), kOneIsSilent) << "nobody knows that there are no peers";
  json one = peers_answer({peer_row("host-b", {link_of_worker("up", 70)})});
  EXPECT_THAT(peers_text(one, kUnlimited), Not(HasSubstr("did not answer")));
  one["workers_silent"] = 1;
  EXPECT_THAT(peers_text(one, kUnlimited), StartsWith(kOneIsSilent));
}

TEST(Peers, ALongListSaysThatItIsNotWhole) {
  json answer = peers_answer({peer_row("host-b", {link_of_worker("up", 70)})});
  answer["left_out"] = 17;
  EXPECT_THAT(peers_text(answer, kUnlimited), HasSubstr("it lacks 17 links of workers to peers\n"));
}

json connection_row(const char* endpoint) {
  return {{"endpoint", endpoint},
          {"service", "Kv"},
          {"kind", "tcp"},
          {"pid", nullptr},
          {"client", "tcp:127.0.0.1:40000"},
          {"protocol", "framed binary"},
          {"peer", "host-b"},
          {"has_own_server", false},
          {"carrier", "tcp"},
          {"waits", ""},
          {"age_s", 61.5},
          {"calls", 20'000},
          {"unanswered", 4},
          {"bytes_in", 2048},
          {"bytes_out", 4096},
          {"buffered", 0},
          {"worker", 0}};
}

json connections_answer(uint64_t open, std::vector<json> shown) {
  return {{"workers", 2},
          {"workers_silent", 0},
          {"open", open},
          {"order", "calls"},
          {"connections", std::move(shown)}};
}

TEST(Connections, ALineHasTheClientAndItsCalls) {
  json bound = connection_row("shm:/run/kv.ring");
  bound.update({{"kind", "ring"}, {"pid", 4711}, {"client", ""}, {"has_own_server", true}});
  json waiting = connection_row("unix:/run/kv.sock");
  waiting.update({{"peer", ""}, {"carrier", ""}, {"waits", "link"}, {"protocol", "opaque (tls)"}});
  const std::string text = connections_text(
      connections_answer(10'000, {connection_row("tcp:127.0.0.1:9090"), bound, waiting}),
      kUnlimited);
  EXPECT_THAT(text, StartsWith("10000 connections of local clients, of which these 3 come "
                               "first by calls\n"));
  EXPECT_THAT(line_that_begins_with(text, "tcp:127.0.0.1:9090"),
              MatchesRegex("tcp:127.0.0.1:9090 +tcp:127.0.0.1:40000 +tcp +framed binary +host-b +"
                           "tcp +1 min 1 s +20k +4 +2 KiB +4 KiB +0 B"));
  EXPECT_THAT(line_that_begins_with(text, "shm:/run/kv.ring"), HasSubstr("pid 4711"));
  EXPECT_THAT(line_that_begins_with(text, "shm:/run/kv.ring"),
              HasSubstr("host-b (own server connection)"));
  EXPECT_THAT(line_that_begins_with(text, "unix:/run/kv.sock"),
              AllOf(HasSubstr("opaque (tls)"), HasSubstr("waits for a link")));
}

TEST(Connections, NoneIsASentence) {
  EXPECT_EQ(connections_text(connections_answer(0, {}), kUnlimited),
            "0 connections of local clients\n");
}

TEST(Connections, AWorkerThatDoesNotAnswerIsNamed) {
  json answer = connections_answer(0, {});
  answer["workers_silent"] = 1;
  EXPECT_EQ(connections_text(answer, kUnlimited), kOneIsSilent);
  json other = connections_answer(1, {connection_row("tcp:127.0.0.1:9090")});
  other["workers_silent"] = 1;
  EXPECT_THAT(connections_text(other, kUnlimited),
              StartsWith(std::string(kOneIsSilent) +
                         "1 connection of local clients in the other workers\n"));
}

json routes_with(std::vector<std::pair<const char*, std::vector<const char*>>> services) {
  json all = json::array();
  for (const auto& [service, functions] : services) {
    json listed = json::array();
    for (const char* function : functions) {
      const json plan = {{"plan", "rfp, busy"},
                         {"reason", "perf_goal=latency, because."},
                         {"timeout_ms", 100},
                         {"idempotent", false}};
      listed.push_back({{"method", function},
                        {"oneway", false},
                        {"client", plan},
                        {"server", plan},
                        {"reply_protocol", "rfp"},
                        {"fallbacks", json::object()},
                        {"allow", nullptr},
                        {"origin", "kv.thrift:3:1"}});
    }
    all.push_back({{"service", service}, {"functions", listed}});
  }
  return {{"fabric", "loop: shared memory"}, {"services", all}};
}

TEST(Explain, AFunctionIsFoundByItsNameOrWithItsService) {
  const json all = routes_with({{"Kv", {"get", "put"}}, {"Log", {"put"}}});
  EXPECT_EQ(*function_called(all, "Kv.put"), "Kv.put");
  EXPECT_EQ(*function_called(all, "get"), "Kv.get");
  EXPECT_EQ(function_called(all, "put").error().message,
            "several services have a function 'put'; write one of: Kv.put, Log.put");
  EXPECT_THAT(function_called(all, "Kv.gat").error().message,
              HasSubstr("no function is called 'Kv.gat' (did you mean 'Kv.get'?)"));
  EXPECT_THAT(function_called(all, "got").error().message, HasSubstr("(did you mean 'get'?)"));
  EXPECT_THAT(function_called(all, "\x1b[2J").error().message, Not(HasSubstr("\x1b")));
}

TEST(Explain, OtherCommandsFindAServiceToo) {
  const json all = routes_with({{"Kv", {"get", "put", "Log"}}, {"Log", {"put"}}});
  EXPECT_EQ(*functions_called(all, ""), "");
  EXPECT_EQ(*functions_called(all, "Kv"), "Kv");
  EXPECT_EQ(*functions_called(all, "Log"), "Log") << "a service comes before a function";
  EXPECT_EQ(*functions_called(all, "Kv.put"), "Kv.put");
  EXPECT_EQ(*functions_called(all, "get"), "Kv.get");
  EXPECT_EQ(functions_called(all, "put").error().message,
            "several services have a function 'put'; write one of: Kv.put, Log.put");
  EXPECT_THAT(functions_called(all, "Kw").error().message,
              HasSubstr("no service or function is called 'Kw' (did you mean 'Kv'?)"));
}

json way_row(const char* name, const char* state) {
  return {{"worker", 0},
          {"endpoint", "tcp:127.0.0.1:9090"},
          {"peer", name},
          {"state", state},
          {"last_error", ""},
          {"candidate", true},
          {"overflow", false},
          {"avoided", false},
          {"ejection", nullptr},
          {"is_near", false},
          {"slow", false},
          {"weight", 1},
          {"unanswered", 2},
          {"learned", false},
          {"small", {{"protocols", "rfp"}, {"why", ""}, {"last_error", ""}, {"opens", false}}},
          {"large", {{"protocols", "rfp"}, {"why", ""}, {"last_error", ""}, {"opens", false}}}};
}

json explain_answer(std::vector<json> ways) {
  const json calls = {{"calls", 1200}, {"timed_out", 3}};
  const json none = {{"calls", 0}, {"timed_out", 0}};
  return {{"service", "Kv"},
          {"function", "get"},
          {"hints",
           {{{"of", "function"}, {"group", "c_hint"}, {"key", "payload_size"}, {"value", "64B"}}}},
          {"deadline", {{"ms", 100}, {"from", "timeout_ms"}}},
          {"priority", "high"},
          {"idempotent", false},
          {"retry_percent", 20},
          {"retry_request_bytes", 65'536},
          {"several_peers", true},
          {"endpoints", json::array({"tcp:127.0.0.1:9090"})},
          {"workers", 2},
          {"workers_silent", 0},
          {"left_out", 0},
          {"ways", std::move(ways)},
          {"serves", nullptr},
          {"recent", {{"window_s", 600.0}, {"client", calls}, {"server", none}}},
          {"slow", {{"kept", 64}, {"of_function", 2}, {"slowest_us", 250'000.0}}}};
}

TEST(Explain, APageHasThePlanAndWhatCallsUseNow) {
  json opening = way_row("host-c", "up");
  opening["small"] = opening["large"] = {
      {"protocols", ""}, {"why", "opening"}, {"last_error", ""}, {"opens", true}};
  json refused = way_row("host-d", "up");
  refused["small"] = {
      {"protocols", ""}, {"why", "refused"}, {"last_error", "no memory"}, {"opens", false}};
  json down = way_row("host-e", "down");
  down.update({{"candidate", false}, {"last_error", "connection refused"}, {"small", nullptr}});
  json ejected = way_row("host-f", "up");
  ejected.update({{"candidate", false},
                  {"avoided", true},
                  {"ejection",
                   {{"state", "ejected"}, {"left_s", 2}, {"failures", 0}, {"why", "overloaded"}}}});
  json far = way_row("host-g", "up");
  far["candidate"] = false;
  json slow = way_row("host-h", "up");
  slow.update({{"overflow", true}, {"slow", true}});
  json slow_and_alone = way_row("host-i", "up");
  slow_and_alone["slow"] = true;
  const std::string text =
      explain_text(routes_with({{"Kv", {"get"}}}),
                   explain_answer({way_row("host-b", "up"), way_row("host-b", "up"), opening,
                                   refused, down, ejected, far, slow, slow_and_alone}),
                   kUnlimited);
  for (const char* part :
       {"perf_goal=latency, because.", "payload_size  64B    function  c_hint\n",
        "deadline   100 ms, from the hint timeout_ms.", "priority   high\n",
        "the server has certainly not seen it", "1200 in 10 min, 2/s, of which 3 passed",
        "2 of the 64 slowest calls", "the slowest took 250 ms"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  const auto line = [&](const char* peer) {
    return line_that_begins_with(text, std::string("tcp:127.0.0.1:9090  ") + peer);
  };
  EXPECT_THAT(line("host-b"), MatchesRegex(".*host-b +2  rfp +4 +1  yes"));
  EXPECT_THAT(line("host-c"), MatchesRegex(".*tcp; the call opens the lane .*  yes"));
  EXPECT_THAT(line("host-d"), HasSubstr("tcp (refused: no memory); large: rfp"));
  EXPECT_THAT(line("host-e"),
              MatchesRegex(".*host-e +1  - .*no: the link is down: connection refused"));
  EXPECT_THAT(line("host-f"), HasSubstr("no: ejected for 2 s (overloaded)"));
  EXPECT_THAT(line("host-g"), HasSubstr("no: peers in the zone of this node come first"));
  EXPECT_THAT(line("host-h"),
              HasSubstr("only if the others have no room, or as a trial: its calls take much"));
  EXPECT_THAT(line("host-i"), HasSubstr("yes, as no better one is left: its calls take much"));
  constexpr const char* kOverflow =
      "They choose a peer with \"only if\" when each of the others has many more calls in flight";
  EXPECT_THAT(text, HasSubstr(kOverflow));
  EXPECT_THAT(explain_text(routes_with({{"Kv", {"get"}}}),
                           explain_answer({way_row("host-b", "up"), slow_and_alone}), kUnlimited),
              Not(HasSubstr(kOverflow)));
}

TEST(Explain, ARetryNeedsAnIdempotentFunctionOrAServerThatHasNotSeenTheCall) {
  const json all = routes_with({{"Kv", {"get"}}});
  json one = explain_answer({});
  EXPECT_THAT(explain_text(all, one, kUnlimited),
              AllOf(HasSubstr("only by an endpoint with several peers"), HasSubstr("mode mirror"),
                    HasSubstr("of at most 64KiB (limits.retry_request)")));
  one["several_peers"] = false;
  EXPECT_THAT(explain_text(all, one, kUnlimited),
              HasSubstr("none is: the function is not idempotent, and no endpoint of this node has "
                        "several peers.\n"));
  one["idempotent"] = true;
  EXPECT_THAT(explain_text(all, one, kUnlimited), HasSubstr("even if the server may have seen it"));
  one["retry_percent"] = 0;
  EXPECT_THAT(explain_text(all, one, kUnlimited),
              HasSubstr("After other failures none is: limits.retry_percent is 0.\n"));
  json oneway = all;
  oneway["services"][0]["functions"][0]["oneway"] = true;
  EXPECT_THAT(explain_text(oneway, one, kUnlimited),
              AllOf(HasSubstr("After other failures none is, because the function is oneway.\n"),
                    HasSubstr("deadline   none, because the function is oneway")));
}

TEST(Explain, ARequestThatIsLostWithItsLaneIsSentAgainWheneverACopyIsKept) {
  const json all = routes_with({{"Kv", {"get"}}});
  json oneway = all;
  oneway["services"][0]["functions"][0]["oneway"] = true;
  json page = explain_answer({});
  page["several_peers"] = false;
  page["retry_percent"] = 0;
  constexpr const char* kLane = "If it was lost with an RDMA lane, it is sent over TCP to the same";
  for (const json& routes : {all, oneway}) {
    page["retry_request_bytes"] = 65'536;
    EXPECT_THAT(explain_text(routes, page, kUnlimited), HasSubstr(kLane));
    page["retry_request_bytes"] = 0;
    EXPECT_THAT(
        explain_text(routes, page, kUnlimited),
        AllOf(HasSubstr("retries    none: limits.retry_request is 0.\n"), Not(HasSubstr(kLane))));
  }
}

TEST(Explain, WithoutATimeoutOnlyAClientSetsADeadline) {
  json page = explain_answer({});
  page["deadline"] = {{"ms", nullptr}, {"from", ""}};
  json all = routes_with({{"Kv", {"get"}}});
  EXPECT_THAT(
      explain_text(all, page, kUnlimited),
      HasSubstr("deadline   none, unless the client sends one (THeader, client_timeout).\n"));
  all["services"][0]["functions"][0]["method"] = "_other";
  EXPECT_THAT(explain_text(all, page, kUnlimited), HasSubstr("deadline   none.\n"));
}

TEST(Explain, WithoutPeersThePageSaysWhatIsKnown) {
  const json all = routes_with({{"Kv", {"get"}}});
  json page = explain_answer({});
  EXPECT_THAT(explain_text(all, page, kUnlimited), HasSubstr("endpoint has no peers at present\n"));
  page["endpoints"] = json::array();
  EXPECT_THAT(explain_text(all, page, kUnlimited),
              HasSubstr("no endpoint has this service as its `service`; multiplexed calls use the "
                        "peers of the endpoint on which they come\n"));
  page["workers_silent"] = 1;
  EXPECT_THAT(explain_text(all, page, kUnlimited),
              AllOf(HasSubstr(kOneIsSilent), Not(HasSubstr("no endpoint"))));
  json some = explain_answer({way_row("host-b", "up")});
  some["workers_silent"] = 1;
  EXPECT_THAT(explain_text(all, some, kUnlimited), HasSubstr(kOneIsSilent));
}

TEST(Explain, TheReasonIsTheFirstDifferenceFromAPeerThatIsChosen) {
  const json ejection = {
      {"state", "ejected"}, {"left_s", 2}, {"failures", 0}, {"why", "overloaded"}};
  const auto way = [&](const char* name, const char* state, bool candidate, bool avoided) {
    json one = way_row(name, state);
    one.update({{"candidate", candidate}, {"avoided", avoided}});
    if (avoided) one["ejection"] = ejection;
    return one;
  };
  json near = way("host-b", "up", true, true);
  near["is_near"] = true;
  json other_worker = way("host-h", "up", true, false);
  other_worker["worker"] = 1;
  const std::string text = explain_text(
      routes_with({{"Kv", {"get"}}}),
      explain_answer({near, way("host-c", "up", false, true),
                      way("host-d", "connecting", false, false), way("host-e", "idle", false, true),
                      way("host-f", "idle", false, false), other_worker}),
      kUnlimited);
  const auto line = [&](const char* peer) {
    return line_that_begins_with(text, std::string("tcp:127.0.0.1:9090  ") + peer);
  };
  const std::string avoided = "ejected for 2 s (overloaded)";
  EXPECT_THAT(line("host-b"), EndsWith("  yes, as no better one is left: " + avoided));
  EXPECT_THAT(line("host-c"),
              EndsWith("  no: peers in the zone of this node come first; " + avoided));
  EXPECT_THAT(line("host-d"), EndsWith("  perhaps: connections wait for its first attempt"));
  EXPECT_THAT(line("host-e"), EndsWith("  when a call needs it: the link is idle; " + avoided));
  EXPECT_THAT(line("host-f"), EndsWith("  when a call needs it: the link is idle"));
  EXPECT_THAT(line("host-h"), EndsWith("  yes"));
}

TEST(Explain, ANameThatIsProposedHasNoControlCharacters) {
  const json all = routes_with({{"Kv", {"get\x1b[m"}}});
  EXPECT_THAT(function_called(all, "get[m").error().message,
              AllOf(HasSubstr("did you mean 'get?[m'?"), Not(HasSubstr("\x1b"))));
}

}  // namespace
}  // namespace hat::hatctl
