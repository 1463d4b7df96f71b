// SPDX-License-Identifier: Apache-2.0
// hatctl/advise_test.cc: checks the text and the selection of proposed changes of hints.
#include <gmock/gmock.h>

#include "hatctl/pages.h"

namespace hat::hatctl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

json some_advice() {
  return json::parse(R"({"window_seconds": 840, "proposals": [
    {"service": "Kv", "function": "get", "side": "client",
     "changes": [{"group": "c_hint", "key": "payload_size", "from": "64KiB", "to": "512"},
                 {"group": "hint", "key": "polling", "from": "busy", "to": null},
                 {"group": "c_hint", "key": "perf_goal", "from": null, "to": "latency"}],
     "evidence": "99 of 100 requests have at most 512 B", "gain": "128 times as many messages"},
    {"service": "Log", "function": "add", "side": "server",
     "changes": [{"group": "hint", "key": "concurrency", "from": "8", "to": "64"}],
     "evidence": "more callers", "gain": "another column"}]})");
}

TEST(Advice, ShowsEachChangeAsInTheManifest) {
  EXPECT_EQ(advice_text(some_advice(), {}),
            "hatrpcd proposes these changes after the calls of the last 14 min\n"
            "\n"
            "Kv.get  seen on the client's side\n"
            "  write    c_hint: {payload_size: 512, perf_goal: latency}  (now 64KiB, not set)\n"
            "  remove   hint: {polling: busy}\n"
            "  because  99 of 100 requests have at most 512 B\n"
            "  gain     128 times as many messages\n"
            "\n"
            "Log.add  seen on the server's side\n"
            "  write    hint: {concurrency: 64}  (now 8)\n"
            "  because  more callers\n"
            "  gain     another column\n"
            "\n"
            "`hatctl advise --apply` makes these changes in the manifests, and reloads them.\n");
}

TEST(Advice, IsBoldAndBrokenIntoLinesOnATerminal) {
  EXPECT_THAT(advice_text(some_advice(), {true, true, 30, 24}),
              AllOf(HasSubstr("\x1b[1mKv.get\x1b[0m"),
                    HasSubstr("  because  99 of 100 requests\n           have at most 512 B\n")));
}

TEST(Advice, SaysWhenThereIsNoneAndWhenTheTimeWasShort) {
  json advice = {{"window_seconds", 1200}, {"proposals", json::array()}};
  EXPECT_EQ(advice_text(advice, {}),
            "no change is proposed: the hints fit the calls of the last 20 min\n");
  advice["window_seconds"] = 299;
  EXPECT_THAT(advice_text(advice, {}), AllOf(HasSubstr("of the last 4 min 59 s\nThis is a short "),
                                             Not(HasSubstr("--apply"))));
  advice["window_seconds"] = 300;
  EXPECT_THAT(advice_text(advice, {}), Not(HasSubstr("short")));
}

TEST(Advice, IsChosenByServiceOrFunction) {
  EXPECT_EQ(advice_wanted(some_advice(), ""), some_advice());
  for (const char* wanted : {"Kv", "Kv.get"}) {
    const json one = advice_wanted(some_advice(), wanted);
    ASSERT_EQ(one.at("proposals").size(), 1u) << wanted;
    EXPECT_EQ(one.at("proposals")[0], some_advice().at("proposals")[0]);
    EXPECT_EQ(one.at("window_seconds"), 840);
  }
  EXPECT_TRUE(advice_wanted(some_advice(), "get").at("proposals").empty());
}

}  // namespace
}  // namespace hat::hatctl
