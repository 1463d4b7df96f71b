// SPDX-License-Identifier: Apache-2.0
#include "hatctl/pages.h"

#include <gmock/gmock.h>

namespace hat::hatctl {
namespace {

using nlohmann::json;
using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

const Terminal kPipe;

json plan(const char* words, const char* reason) {
  return {{"plan", words},
          {"reason", reason},
          {"slot_bytes", 4096},
          {"timeout_ms", nullptr},
          {"idempotent", false}};
}

json carried(const char* request, const char* reply, uint64_t calls) {
  return {{"request_protocol", request}, {"reply_protocol", reply}, {"calls", calls}};
}

json some_routes() {
  json slow = plan("eager, event", "of the server");
  slow["timeout_ms"] = 250;
  slow["idempotent"] = true;
  return {{"generation", 3},
          {"fabric", "verbs: mlx5_0"},
          {"fabric_kind", "verbs"},
          {"services",
           {{{"service", "Kv"},
             {"functions",
              {{{"method", "get"},
                {"oneway", false},
                {"origin", "kv.thrift:3:1"},
                {"client", plan("eager, busy", "because of this")},
                {"server", slow},
                {"allow", {"host-a", "spiffe://p/*"}},
                {"allow_mode", "dry_run"},
                {"carried",
                 {carried("direct_write_imm", "rfp", 12034), carried("eager", "eager", 7),
                  carried("eager", "none", 2), carried("tcp", "tcp", 3)}},
                {"fallbacks", {{"down", 1}, {"opening", 2}}}},
               {{"method", "log"},
                {"oneway", true},
                {"origin", ""},
                {"client", plan("tcp", "that")},
                {"server", plan("tcp", "that")},
                {"allow", nullptr},
                {"allow_mode", "enforce"},
                {"carried", json::array()},
                {"fallbacks", json::object()}}}}}}}};
}

TEST(Routes, ReportBothSidesOnceWhereTheyAreAlike) {
  EXPECT_EQ(
      routes_text(some_routes(), kPipe),
      "fabric     verbs: mlx5_0\n"
      "\n"
      "Kv.get\n"
      "  client   eager, busy\n"
      "           because of this\n"
      "  server   eager, event, timeout 250 ms, idempotent\n"
      "           of the server\n"
      "  carried  12034 by direct_write_imm / rfp, 7 by eager, 2 by eager without a reply, 3 over "
      "tcp (down 1, opening 2)\n"
      "  allow    host-a, spiffe://p/* (dry run: calls of other peers are counted, and served)\n"
      "  from     kv.thrift:3:1\n"
      "\n"
      "Kv.log  oneway\n"
      "  both     tcp\n"
      "           that\n");
}

TEST(Routes, NameTheHostTheHintsThatChangeNothingAndTheRepliesOfOtherHosts) {
  json routes = some_routes();
  routes["host"] = {{"cores", 28}, {"nic_cores", 14}};
  json& function = routes["services"][0]["functions"][0];
  function["server"]["change_nothing"] = {{{"hint", "concurrency: 8"}, {"why", "so it is"}}};
  function["reply_protocol"] = "eager";
  function["replies"] = {
      {{"peer", "host-b"}, {"cores", 2}, {"nic_cores", 2}, {"protocol", "rfp"}},
      {{"peer", "host-c"}, {"cores", 9}, {"nic_cores", 9}, {"protocol", "eager"}},
      {{"peer", "host-d"}, {"cores", 8}, {"nic_cores", 4}, {"protocol", "herd"}}};
  EXPECT_THAT(routes_text(routes, kPipe),
              StartsWith("fabric     verbs: mlx5_0\n"
                         "host       28 cores, 14 of them near the NIC\n"
                         "\n"
                         "Kv.get\n"
                         "  client   eager, busy\n"
                         "           because of this\n"
                         "  server   eager, event, timeout 250 ms, idempotent\n"
                         "           of the server\n"
                         "           The hint concurrency: 8 changes nothing in how hatrpcd "
                         "carries the calls: so it is.\n"
                         "  replies  rfp, requested from host-b (2 cores)\n"
                         "  replies  herd, requested from host-d (8 cores, 4 of them near the "
                         "NIC)\n"
                         "  carried"));
  routes["host"] = {{"cores", 1}, {"nic_cores", 1}};
  EXPECT_THAT(routes_text(routes, kPipe), HasSubstr("\nhost       1 core\n"));
}

// A peer whose plan differs only in the replies has no line `to PEER`.
TEST(Routes, ShowThePlansForPeersWithTheirOwnCosts) {
  json routes = some_routes();
  json& function = routes["services"][0]["functions"][0];
  const auto plan_to = [&](const char* words) {
    json plan = function["client"];
    plan["plan"] = words;
    plan["reason"] = "measured";
    plan.erase("change_nothing");
    return plan;
  };
  function["client_to"] = {{"host-b", plan_to("rfp, busy")}, {"host-c", plan_to("eager, busy")}};
  EXPECT_THAT(routes_text(routes, kPipe), HasSubstr("  client   eager, busy\n"
                                                    "           because of this\n"
                                                    "  server   eager, event, timeout 250 ms, "
                                                    "idempotent\n"
                                                    "           of the server\n"
                                                    "  to host-b rfp, busy\n"
                                                    "           measured\n"
                                                    "  carried"));
}

// An older hatrpcd does not say by which protocols request and reply were carried.
TEST(Routes, SayWhyCallsUsedTcpAlsoForAnOlderDaemon) {
  json routes = some_routes();
  json& functions = routes["services"][0]["functions"];
  for (json& function : functions) function.erase("carried");
  const std::string text = routes_text(routes, kPipe);
  EXPECT_THAT(text, HasSubstr("\n  carried  some over tcp (down 1, opening 2)\n"));
  EXPECT_THAT(text, HasSubstr("Kv.log  oneway\n  both     tcp\n           that\n"));
}

TEST(Routes, ShowWhatWasLearned) {
  json routes = some_routes();
  json& function = routes["services"][0]["functions"][0];
  const auto cost = [](const char* choice, double ns) {
    return json{{"choice", choice}, {"ns", ns}};
  };
  json learned = {{"worker", 1},
                  {"peer", "host-b"},
                  {"choice", "rfp, busy"},
                  {"kept", false},
                  {"searching", true},
                  {"trials", 31},
                  {"changes", 1},
                  {"noise", 0.037},
                  {"measures", "mean time of a call"},
                  {"costs",
                   {cost("rfp, busy", 41'000), cost("eager, busy", 55'000), cost("tcp, busy", 6e6),
                    cost("pilaf, busy", 7e6), cost("farm, busy", 8e6)}}};
  function["learned"] = json::array({learned});
  EXPECT_THAT(routes_text(routes, kPipe),
              HasSubstr("\n  learned  rfp, busy, to host-b (worker 1): searching, 31 trials, 1 "
                        "change\n"
                        "           measured (mean time of a call, ± 4 %): rfp, busy 41 µs; eager, "
                        "busy 55 µs; tcp, busy 6 ms; pilaf, busy 7 ms\n"));
  learned["searching"] = false;
  learned["costs"] = json::array();
  learned["changes"] = 2;
  function["learned"] = json::array({learned});
  EXPECT_THAT(routes_text(routes, kPipe), HasSubstr("(worker 1): 31 trials, 2 changes\n  carried"));
  learned["kept"] = true;
  learned["changes"] = 0;
  function["learned"] = json::array({learned});
  EXPECT_THAT(routes_text(routes, kPipe),
              HasSubstr("(worker 1): kept from before the restart, 31 trials, 0 changes\n"));
}

TEST(Routes, SayWhetherTheHintNumaIsHonoured) {
  json routes = some_routes();
  json& function = routes["services"][0]["functions"][0];
  function["client"]["numa"] = {{"hint", "nic"}, {"node", 1}, {"not_honoured", ""}};
  function["server"]["numa"] = {{"hint", "0"}, {"node", nullptr}, {"not_honoured", "no worker"}};
  EXPECT_THAT(routes_text(routes, kPipe),
              HasSubstr("           because of this\n"
                        "           numa: nic, carried by workers on node 1\n"
                        "  server   eager, event, timeout 250 ms, idempotent\n"
                        "           of the server\n"
                        "           numa: 0 is not honoured: no worker\n"
                        "  carried"));
}

TEST(Routes, SayWhenTheFabricIsNotRdma) {
  json routes = some_routes();
  routes["fabric"] = "loop: memory shared with peers on this host (there is no RDMA device)";
  routes["fabric_kind"] = "loop";
  EXPECT_THAT(routes_text(routes, kPipe),
              StartsWith("fabric     loop: memory shared with peers on this host (there is no RDMA "
                         "device)\n"
                         "           Not RDMA: lanes reach only daemons on this host; calls to "
                         "other hosts use TCP.\n\nKv.get\n"));
  routes["fabric"] = "none, TCP carries all calls: the configuration says tcp";
  routes["fabric_kind"] = "none";
  EXPECT_THAT(routes_text(routes, kPipe), StartsWith("fabric     none, TCP carries all calls"));
}

TEST(Routes, AreBoldAndBrokenIntoLinesOnATerminal) {
  const std::string text = routes_text(some_routes(), {true, true, 22, 24});
  EXPECT_THAT(text, AllOf(HasSubstr("\x1b[1mKv.get\x1b[0m"),
                          HasSubstr("           because of\n           this\n")));
}

TEST(Routes, AreChosenByServiceOrFunction) {
  EXPECT_EQ(routes_wanted(some_routes(), ""), some_routes());
  EXPECT_EQ(routes_wanted(some_routes(), "Kv"), some_routes());
  const json one = routes_wanted(some_routes(), "Kv.log").at("services");
  EXPECT_EQ(one[0].at("functions").size(), 1u);
  EXPECT_TRUE(routes_wanted(some_routes(), "get").at("services").empty());
  EXPECT_TRUE(routes_wanted(some_routes(), "K").at("services").empty());
}

json some_status() {
  return json::parse(R"({
    "node": "host-a", "version": "1.2.3", "pid": 77, "uptime_s": 3725.5, "state": "running",
    "pending": [], "generation": 4, "workers": 2, "fabric": "loop", "fabric_kind": "loop",
    "link_security": "insecure",
    "links": [{"worker": 0, "peer": "b", "address": "tcp:b:1", "up": true, "sessions": 2,
               "last_error": "", "lanes": [{"protocol": "rfp", "class": "latency", "state": "up",
               "last_error": "", "failures": 0}, {"protocol": "herd", "class": "throughput",
               "state": "down", "last_error": "cut", "failures": 1}]},
              {"worker": 1, "peer": "b", "address": "tcp:b:1", "up": false, "sessions": 1,
               "last_error": "connection refused", "lanes": [{"protocol": "rfp",
               "class": "latency", "state": "up", "last_error": "", "failures": 0}]},
              {"worker": 1, "peer": "c", "address": "tcp:c:1", "up": false, "state": "idle",
               "sessions": 0, "last_error": "", "lanes": []}],
    "endpoints": [{"listen": "unix:/kv", "service": "Kv", "peers": ["b", "c"]}], "serves": [],
    "connections_open": 12, "upstream_connections_open": 3, "buffered_bytes": 2048,
    "local_replies": {"draining": 0, "overloaded": 5},
    "last_reload": {"successful": true, "unix_time": 940, "error": ""}})");
}

TEST(Status, ReportsAllInOneView) {
  EXPECT_EQ(status_text(some_status(), 1000, kPipe),
            "node         host-a, ready\n"
            "hatrpcd      1.2.3, pid 77, running for 1 h 2 min, 2 workers\n"
            "routes       generation 4, read 1 min ago\n"
            "fabric       loop\n"
            "links        insecure: neither authenticated nor encrypted\n"
            "connections  12 of clients, 3 to servers, 2 KiB held for slow readers\n"
            "\n"
            "LINK TO  ADDRESS   UP  IDLE  SESSIONS  LAST ERROR\n"
            "b        tcp:b:1  1/2     0         3  connection refused\n"
            "c        tcp:c:1  0/1     1         0\n"
            "\n"
            "RDMA LANE TO  PROTOCOL  CLASS       STATE  LANES  LAST ERROR\n"
            "b             herd      throughput  down       1  cut\n"
            "b             rfp       latency     up         2\n"
            "\n"
            "ENDPOINT  SERVICE  PEERS\n"
            "unix:/kv  Kv       b, c\n"
            "\n"
            "HATRPCD ANSWERED ITSELF  CALLS\n"
            "overloaded                   5\n");
}

TEST(Status, ReportsTheCoresOfBoundWorkers) {
  json status = some_status();
  status["worker_placement"] = json::parse(R"([{"cores": "", "numa_node": null},
                                               {"cores": "", "numa_node": 0}])");
  EXPECT_EQ(status_text(status, 1000, kPipe), status_text(some_status(), 1000, kPipe));
  status["worker_placement"] = json::parse(R"([{"cores": "2-3", "numa_node": 0},
                                               {"cores": "8", "numa_node": null}])");
  EXPECT_THAT(status_text(status, 1000, kPipe), HasSubstr("slow readers\n"
                                                          "\n"
                                                          "WORKER  CORES  NUMA NODE\n"
                                                          "     0  2-3            0\n"
                                                          "     1  8            any\n"
                                                          "\n"
                                                          "LINK TO"));
}

TEST(Status, ShowsTheRingOfAServer) {
  json status = some_status();
  status["serves"] = {
      {{"service", "Kv"}, {"upstream", "tcp:h:1"}, {"ring", "/r"}, {"mode", "mirror"}},
      {{"service", "Log"}, {"upstream", "unix:/l"}, {"ring", nullptr}, {"mode", "shared"}}};
  EXPECT_THAT(status_text(status, 1000, kPipe), HasSubstr("\nSERVES  UPSTREAM           MODE\n"
                                                          "Kv      tcp:h:1 or shm:/r  mirror\n"
                                                          "Log     unix:/l            shared\n"));
}

TEST(Status, ReportsHowLinksAreSecured) {
  json status = some_status();
  status["link_security"] = "tls";
  EXPECT_THAT(status_text(status, 1000, kPipe), HasSubstr("\nlinks        TLS 1.3, both"));
  status["link_security"] = "none";
  EXPECT_THAT(status_text(status, 1000, kPipe), Not(HasSubstr("\nlinks ")));
}

json some_certificates() {
  return json::parse(R"([
    {"use": "certificate", "file": "/a.pem", "subject": "CN=host-a", "issuer": "CN=ca",
     "names": ["host-a", "spiffe://p/host-a"], "not_before": 1000, "not_after": 90000,
     "serial": "4f", "fingerprint": "ab"},
    {"use": "ca", "file": "/ca.pem", "subject": "CN=ca", "issuer": "CN=ca", "names": [],
     "not_before": 1000, "not_after": 500000, "serial": "01", "fingerprint": "cd"},
    {"use": "crl", "file": "/crl.pem", "subject": "CN=ca", "issuer": "CN=ca", "names": [],
     "not_before": 1000, "not_after": 100000, "serial": "", "fingerprint": "ef"}])");
}

TEST(Certs, ReportWhatEachSays) {
  EXPECT_EQ(certs_text(some_certificates(), 86400, kPipe),
            "this node's certificate\n"
            "  file         /a.pem\n"
            "  subject      CN=host-a\n"
            "  name         host-a\n"
            "  name         spiffe://p/host-a\n"
            "  issuer       CN=ca\n"
            "  valid until  1970-01-02 01:00:00 UTC, 1 h from now\n"
            "  serial       4f\n"
            "  SHA-256      ab\n"
            "\n"
            "a CA that may sign peers' certificates\n"
            "  file         /ca.pem\n"
            "  subject      CN=ca\n"
            "  issuer       CN=ca\n"
            "  valid until  1970-01-06 18:53:20 UTC, 4 d 18 h from now\n"
            "  serial       01\n"
            "  SHA-256      cd\n"
            "\n"
            "a list of revoked certificates\n"
            "  file         /crl.pem\n"
            "  subject      CN=ca\n"
            "  issuer       CN=ca\n"
            "  valid until  1970-01-02 03:46:40 UTC, 3 h 46 min from now\n"
            "  SHA-256      ef\n");
}

TEST(Certs, ReportWhatIsNotGood) {
  EXPECT_THAT(certs_text(some_certificates(), 90060, kPipe),
              HasSubstr("1970-01-02 01:00:00 UTC: expired 1 min ago\n"));
  EXPECT_THAT(certs_text(some_certificates(), 900, kPipe),
              HasSubstr("not before 1970-01-01 00:16:40 UTC\n"));
  EXPECT_THAT(certs_text(json::array(), 900, kPipe), HasSubstr("have no TLS"));
  EXPECT_TRUE(own_certificate_is_good(some_certificates(), 89999));
  EXPECT_FALSE(own_certificate_is_good(some_certificates(), 90000));
  EXPECT_FALSE(own_certificate_is_good(some_certificates(), 999));
  EXPECT_TRUE(own_certificate_is_good(json::array(), 1000));
}

TEST(Status, ListsTheNamesOfTheConfiguration) {
  json status = some_status();
  EXPECT_THAT(status_text(status, 1000, kPipe), Not(HasSubstr("ADDRESSES")));
  status["names"] = {{{"name", "dns:kv:7471"},
                      {"addresses", {"tcp:10.0.0.2:7471", "tcp:10.0.0.3:7471"}},
                      {"error", "no answer"}}};
  EXPECT_THAT(status_text(status, 1000, kPipe),
              HasSubstr("NAME         ADDRESSES                             LAST ERROR\n"
                        "dns:kv:7471  tcp:10.0.0.2:7471, tcp:10.0.0.3:7471  no answer\n"));
}

TEST(Status, ReportsWhatIsPendingAndWhyAReloadWasRefused) {
  json status = some_status();
  status["pending"] = {"link to b", "draining"};
  status["last_reload"] = {
      {"successful", false}, {"unix_time", 990}, {"error", "a.yaml:1:1: error: x\nb.yaml: y\n"}};
  EXPECT_THAT(status_text(status, 1000, kPipe),
              AllOf(HasSubstr("host-a, not ready, pending: link to b, draining\n"),
                    HasSubstr(", read 10 s ago; the last reload was refused:\n"
                              "  a.yaml:1:1: error: x\n"
                              "  `hatctl reload --dry-run` shows all errors\n"),
                    Not(HasSubstr("b.yaml"))));
  EXPECT_THAT(status_text(status, 1000, {true, true, 80, 24}),
              HasSubstr("\x1b[31mnot ready\x1b[0m"));
}

TEST(Reload, ReportsChangesAndWarnings) {
  const json report = {{"ok", true},
                       {"generation", 5},
                       {"changes", {"Kv.get: client: a → b"}},
                       {"warnings", {"m.yaml:1:1: warning: w"}}};
  EXPECT_EQ(reload_text(report, false),
            "reloaded: 1 change; generation 5 is in use now\n"
            "  Kv.get: client: a → b\n"
            "m.yaml:1:1: warning: w\n");
  EXPECT_THAT(reload_text(report, true),
              HasSubstr("dry run: 1 change; generation 5 stays in use\n"));
  const json nothing = {{"generation", 6}, {"changes", json::array()}, {"warnings", json::array()}};
  EXPECT_THAT(reload_text(nothing, false), HasSubstr("reloaded: no plan changes; generation 6"));
  EXPECT_EQ(reload_text(nothing, true),
            "dry run: no plan changes; generation 6 agrees with the files (hatrpcd reads a changed "
            "file by itself within two seconds)\n");
}

TEST(CalibrationPage, IsATableOfCostsBySize) {
  const json calibration = {
      {"peer", "host-b"},
      {"measured", "2026-11-22T12:00:00Z"},
      {"device", "loop: memory shared with peers on this host"},
      {"costs",
       {{"put", {{{"bytes", 8}, {"ns", 61.2}}, {{"bytes", 4096}, {"ns", 1310.0}}}},
        {"get", {{{"bytes", 8}, {"ns", 60.0}}}},
        {"message", {{{"bytes", 4096}, {"ns", 2500.0}}}},
        {"copy", json::array()},
        {"registration", json::array()},
        {"pushed_calls", {{{"bytes", 8192}, {"ns", 10100.0}}}},
        {"fetched_calls", {{{"bytes", 8192}, {"ns", 10000.0}}}},
        {"compare_swap_ns", 70.1},
        {"fetch_add_ns", 0.0},
        {"wake_up_ns", 5300.0}}}};
  EXPECT_EQ(calibration_text(calibration, kPipe),
            "with host-b, 2026-11-22T12:00:00Z, loop: memory shared with peers on this host\n\n"
            " SIZE      PUT    GET  MESSAGE  COPY  REGISTRATION  CALL, PUSHED  CALL, FETCHED\n"
            "  8 B  61.2 ns  60 ns\n"
            "4 KiB  1.31 µs          2.5 µs\n"
            "8 KiB                                                    10.1 µs          10 µs\n\n"
            "compare-and-swap 70.1 ns\nfetch-and-add 0 ns\nwake-up 5.3 µs\n");
}

TEST(CalibrationPage, SaysWhyCallsWereNotMeasured) {
  // An older hatrpcd has no keys for calls.
  json calibration = {{"peer", "host-b"},
                      {"measured", ""},
                      {"device", ""},
                      {"costs", {{"compare_swap_ns", 0}, {"fetch_add_ns", 0}, {"wake_up_ns", 0}}}};
  EXPECT_THAT(calibration_text(calibration, kPipe), EndsWith("wake-up 0 ns\n"));
  calibration["costs"]["no_calls"] = "the fabric has no READs";
  EXPECT_THAT(calibration_text(calibration, kPipe),
              EndsWith("wake-up 0 ns\ncalls were not measured: the fabric has no READs\n"));
}

TEST(Texts, AreCutByColumnsAndNotByBytes) {
  EXPECT_EQ(cut("≤4KiB", 5), "≤4KiB");
  EXPECT_EQ(cut("≤4KiB", 3), "≤4…");
  EXPECT_EQ(cut("abc", 1), "…");
  EXPECT_EQ(width_of("≤4KiB → b"), 9u);
  EXPECT_EQ(wrapped("one two three", 2, 9), "one two\n  three");
  EXPECT_EQ(wrapped("averylongword x", 2, 6), "averylongword\n  x");
  EXPECT_EQ(wrapped("one two", 2, 0), "one two");
}

TEST(Tables, GiveWayInTheFirstColumnThenAreCut) {
  Table table({{"NAME"}, {"N", true}});
  table.add({"abcdefghijklmnop", "12345"});
  EXPECT_EQ(table.text(kPipe), "NAME                  N\nabcdefghijklmnop  12345\n");
  EXPECT_EQ(table.text({true, false, 20, 24}), "NAME               N\nabcdefghijkl…  12345\n");
  EXPECT_EQ(table.text({true, false, 14, 24}), "NAME         …\nabcdefghi…  1…\n");
}

}  // namespace
}  // namespace hat::hatctl
