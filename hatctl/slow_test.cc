// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

const Terminal kToAPipe;

// Returns a call that took `took` ms, of which `server` ms in the server.
json call(const char* method, const char* peer, double took, double server) {
  return {{"unix_time", 1000.0},
          {"service", "Kv"},
          {"method", method},
          {"peer", peer},
          {"outcome", "success"},
          {"reason", nullptr},
          {"took_us", took * 1000},
          {"waited_us", 1000.0},
          {"answered_us", (took - 1) * 1000},
          {"wire_us", (took - server - 1) * 1000},
          {"peer_us", 0.0},
          {"server_us", server * 1000},
          {"reply_us", 0.0}};
}

json failed(const char* method) {
  json one = call(method, "", 2000, 0);
  one["outcome"] = "local_error";
  one["reason"] = "peer_unreachable";
  one["waited_us"] = one["took_us"];
  for (const char* key : {"answered_us", "wire_us", "peer_us", "server_us", "reply_us"}) {
    one[key] = nullptr;
  }
  return one;
}

TEST(Slow, NamesThePlaceOfMostOfTheTime) {
  const json slow = {
      {"slow",
       {failed("put"), call("get", "host-c", 500, 480), call("get", "host-c", 300, 290),
        call("get", "host-b", 40, 2), call("scan", "host-b", 30, 14)}}};
  const std::string text = slow_text(slow, "", 1012, kToAPipe);
  const std::string groups = text.substr(0, text.find("\n\n"));
  EXPECT_THAT(groups, MatchesRegex("FUNCTION +PEER +SLOW CALLS +SLOWEST +MOSTLY\n"
                                   "Kv.put +- +1 +2 s +waiting in this daemon 100 %\n"
                                   "Kv.get +host-c +2 +500 ms +in the server 96 %\n"
                                   "Kv.get +host-b +1 +40 ms +between the hosts 93 %\n"
                                   "Kv.scan +host-b +1 +30 ms +between the hosts 50 %"));
  EXPECT_THAT(text, HasSubstr("12 s"));
  EXPECT_THAT(text, HasSubstr("peer_unreachable"));
}

TEST(Slow, SaysSoIfTheTimeIsNotDivided) {
  json old = call("get", "host-b", 100, 30);
  for (const char* key : {"wire_us", "peer_us", "server_us"}) old[key] = nullptr;
  EXPECT_THAT(slow_text({{"slow", {old}}}, "", 1000, kToAPipe),
              HasSubstr("between the hosts and in the server 99 %"));
  json late = failed("get");
  late["waited_us"] = 1000.0;
  EXPECT_THAT(slow_text({{"slow", {late}}}, "", 1000, kToAPipe),
              HasSubstr("waiting for a reply that did not come 100 %"));
}

TEST(Slow, ShowsTwentyCallsAndCountsTheOthers) {
  json calls = json::array();
  for (int i = 0; i < 25; ++i) calls.push_back(call("get", "host-b", 100 - i, 50));
  const std::string text = slow_text({{"slow", calls}}, "", 1000, kToAPipe);
  EXPECT_THAT(text, AllOf(HasSubstr("81 ms"), Not(HasSubstr("80 ms")),
                          HasSubstr("(5 more; --json has all)\n")));
}

TEST(Slow, SaysIfThereWereNoCalls) {
  EXPECT_EQ(slow_text({{"slow", json::array()}}, "", 1000, kToAPipe),
            "no call of a local client has ended in the last minutes\n");
  EXPECT_EQ(slow_text({{"slow", json::array()}}, "Kv.get", 1000, kToAPipe),
            "no call of Kv.get is among the slowest of the last minutes\n");
}

json waiting(const char* method, const char* peer, int worker, int calls, double seconds) {
  return {{"service", "Kv"},  {"method", method},          {"peer", peer},
          {"worker", worker}, {"waits_for", "reply"},      {"may_be_oneway", false},
          {"calls", calls},   {"oldest_us", seconds * 1e6}};
}

TEST(Slow, ShowsCallsWithoutAReplyFirst) {
  json unsent = waiting("put", "", 0, 1, 0.25);
  unsent["waits_for"] = "to_be_sent";
  json unknown = waiting("log", "host-b", 0, 1, 0.125);
  unknown["may_be_oneway"] = true;
  const json slow = {{"slow", {call("get", "host-b", 40, 2)}},
                     {"waiting",
                      {waiting("get", "host-c", 1, 2, 200), waiting("get", "host-c", 0, 1, 12.3),
                       unsent, unknown}},
                     {"workers", 2},
                     {"workers_silent", 0}};
  const std::string text = slow_text(slow, "", 1012, kToAPipe);
  const std::string first = text.substr(0, text.find("\n\n"));
  EXPECT_THAT(first, MatchesRegex("calls without a reply yet:\n"
                                  "FUNCTION +PEER +CONNECTIONS +OLDEST +WAITS FOR\n"
                                  "Kv.get +host-c +3 +3 min 20 s +the reply\n"
                                  "Kv.put +- +1 +250 ms +a link, a lane or space\n"
                                  "Kv.log +host-b +1 +125 ms +the reply, if it is not oneway"));
  EXPECT_THAT(text, HasSubstr("\n\ncalls that have ended:\nFUNCTION"));
}

TEST(Slow, SaysIfNoCallHasEndedWhileCallsWait) {
  const json slow = {{"slow", json::array()},
                     {"waiting", {waiting("get", "host-c", 0, 1, 12)}},
                     {"workers", 2},
                     {"workers_silent", 1}};
  const std::string text = slow_text(slow, "", 1000, kToAPipe);
  EXPECT_THAT(text, AllOf(HasSubstr("1 of 2 workers did not answer in time"), HasSubstr("host-c"),
                          HasSubstr("\n\nno call of a local client has ended")));
}

TEST(Slow, SaysHowManyRowsTheDaemonLeftOut) {
  const json slow = {{"slow", json::array()},
                     {"waiting", {waiting("get", "host-c", 0, 1, 12)}},
                     {"waiting_left_out", 3}};
  for (const char* wanted : {"Kv.get", "Kv.put"}) {
    EXPECT_THAT(slow_text(slow_wanted(slow, wanted), wanted, 1000, kToAPipe),
                HasSubstr("(hatrpcd left out 3 rows with younger calls)\n"));
  }
}

TEST(Slow, SelectsFunctionsOfCallsWithoutAReply) {
  const json slow = {{"slow", json::array()},
                     {"waiting", {waiting("get", "b", 0, 1, 1), waiting("put", "b", 0, 1, 1)}}};
  EXPECT_EQ(slow_wanted(slow, "Kv").at("waiting").size(), 2u);
  EXPECT_EQ(slow_wanted(slow, "Kv.put").at("waiting").size(), 1u);
  EXPECT_FALSE(slow_wanted({{"slow", json::array()}}, "Kv").contains("waiting"));
}

TEST(Slow, SelectsFunctions) {
  const json slow = {{"slow", {call("get", "b", 2, 1), call("put", "b", 2, 1)}}};
  EXPECT_EQ(slow_wanted(slow, "").at("slow").size(), 2u);
  EXPECT_EQ(slow_wanted(slow, "Kv").at("slow").size(), 2u);
  EXPECT_EQ(slow_wanted(slow, "Kv.put").at("slow").size(), 1u);
  EXPECT_EQ(slow_wanted(slow, "Kv.put").at("slow")[0].at("method"), "put");
  EXPECT_EQ(slow_wanted(slow, "K").at("slow").size(), 0u);
}

}  // namespace
}  // namespace hat::hatctl
