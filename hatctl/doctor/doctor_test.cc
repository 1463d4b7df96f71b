// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/doctor.h"

#include <gmock/gmock.h>

#include "hatctl/doctor/report.h"

namespace hat::doctor {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

NodeConfig node_with_peers() {
  NodeConfig node;
  node.node = "a";
  node.peers = {{.name = "host-b"}, {.name = "host-c"}};
  return node;
}

TEST(PeersNamed, AreAllUnlessSomeAreMeant) {
  const NodeConfig node = node_with_peers();
  EXPECT_EQ(peers_named(node, {})->size(), 2u);
  EXPECT_EQ(peers_named(node, {"host-c"})->at(0).name, "host-c");
  const auto unknown = peers_named(node, {"host-c", "host_b"});
  ASSERT_FALSE(unknown);
  EXPECT_THAT(unknown.error().message, HasSubstr("'host_b' (did you mean 'host-b'?)"));
}

Findings some_findings() {
  Findings findings;
  findings.begin("fabric");
  findings.ok("", "hatrpcd takes rxe1");
  findings.begin("configuration");
  findings.warn("n.yaml:1:2", "no manifest names it", "one\ntwo   # then");
  findings.begin("ports");
  findings.fail("mlx5_0 port 1", "Ethernet, DOWN", "ip link set dev ens1 up");
  return findings;
}

TEST(Report, PutsWhatMendsUnderWhatIsWrong) {
  EXPECT_EQ(report_text(some_findings(), {}),
            "OK    fabric        hatrpcd takes rxe1\n"
            "WARN  configuration n.yaml:1:2: no manifest names it\n"
            "                    one\n"
            "                    two   # then\n"
            "FAIL  ports         mlx5_0 port 1: Ethernet, DOWN\n"
            "                    ip link set dev ens1 up\n"
            "\n"
            "1 ok, 1 warning, 1 failure\n");
}

TEST(Report, IsBrokenIntoLinesOnATerminalButForCommands) {
  const std::string text = report_text(some_findings(), {true, true, 36, 24});
  EXPECT_THAT(text, HasSubstr("\x1b[32mOK  \x1b[0m  fabric        hatrpcd takes\n"
                              "                    rxe1\n"));
  EXPECT_THAT(text, HasSubstr("\x1b[33mWARN\x1b[0m  "));
  EXPECT_THAT(text, HasSubstr("\x1b[1mip link set dev ens1 up\x1b[0m\n"));
}

TEST(Report, IsJsonForScripts) {
  Examined examined;
  examined.version = "1.2.3";
  examined.file.node = node_with_peers();
  const nlohmann::json report = report_json(examined, some_findings());
  EXPECT_EQ(report.at("ok"), false);
  EXPECT_EQ(report.at("node"), "a");
  EXPECT_EQ(report.at("hatctl"), "1.2.3");
  EXPECT_EQ(report.at("counts"), (nlohmann::json{{"ok", 1}, {"warn", 1}, {"fail", 1}}));
  EXPECT_EQ(report.at("findings").at(2), (nlohmann::json{{"verdict", "fail"},
                                                         {"check", "ports"},
                                                         {"subject", "mlx5_0 port 1"},
                                                         {"text", "Ethernet, DOWN"},
                                                         {"mend", "ip link set dev ens1 up"}}));
}

TEST(DaemonState, GathersTheLinksOfAllWorkers) {
  const DaemonState state = read_daemon_state(nlohmann::json::parse(R"({
    "node": "a", "version": "1", "pid": 77, "workers": 2, "fabric": "loop", "pending": ["x"],
    "last_reload": {"successful": false, "unix_time": 1, "error": "e"},
    "links": [{"peer": "b", "up": true, "last_error": "", "lanes": [
                 {"protocol": "rfp", "state": "up", "last_error": ""}]},
              {"peer": "b", "up": false, "last_error": "refused", "lanes": []},
              {"peer": "b", "up": false, "state": "idle", "last_error": "", "lanes": []}]})"),
                                              "/s");
  EXPECT_TRUE(state.answers());
  EXPECT_EQ(state.socket, "/s");
  EXPECT_EQ(state.pid, 77);
  EXPECT_EQ(state.reload_error, "e");
  EXPECT_THAT(state.pending, ElementsAre("x"));
  const LinkState& link = state.links.at("b");
  EXPECT_EQ(link.up, 1u);
  EXPECT_EQ(link.workers, 3u);
  EXPECT_EQ(link.idle, 1u);
  EXPECT_EQ(link.last_error, "refused");
  ASSERT_EQ(link.lanes.size(), 1u);
  EXPECT_EQ(link.lanes[0].protocol, "rfp");
}

}  // namespace
}  // namespace hat::doctor
