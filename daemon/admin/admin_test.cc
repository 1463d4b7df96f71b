// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/admin.h"

#include <fcntl.h>
#include <glog/logging.h>
#include <gmock/gmock.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/descriptor.h"
#include "daemon/admin/fake_control.h"
#include "daemon/reactor/socket_address.h"
#include "engine/plan/fake_costs.h"

namespace hat {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr uid_t kNobody = 65534;

struct Reply {
  int status = 0;
  std::string head;
  std::string body;
};

// Runs client and server in one thread: the client sends its request, which fits into the socket's
// buffer, and then runs the server's event loop until the server closes the connection.
class Admin : public testing::Test {
 protected:
  Admin()
      : folder_(new_folder()),
        http_(open({Address::Kind::kTcp, "127.0.0.1", 0, ""})),
        unix_(open({Address::Kind::kUnix, "", 0, folder_ + "/admin.sock"})),
        base_(event_base_new()),
        server_(base_.get(), control_, &http_, &unix_) {
    std::signal(SIGPIPE, SIG_IGN);  // hatrpcd ignores it too
  }
  ~Admin() override { std::filesystem::remove_all(folder_); }

  // Returns how many iterations the server's event loop runs within `time`.
  int iterations_within(std::chrono::milliseconds time) {
    int iterations = 0;
    const auto end = std::chrono::steady_clock::now() + time;
    for (; std::chrono::steady_clock::now() < end; ++iterations) {
      const timeval left{0, 20'000};
      event_base_loopexit(base_.get(), &left);
      event_base_loop(base_.get(), EVLOOP_ONCE);
    }
    return iterations;
  }
  void iterate() {
    for (int i = 0; i < 10; ++i) event_base_loop(base_.get(), EVLOOP_NONBLOCK);
  }
  static int connected(const ListenSocket& server) {
    const SocketAddress to = *to_connect_to(server.address());
    const int fd = ::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(fd, reinterpret_cast<const sockaddr*>(&to.storage), to.length), 0)
        << strerror(errno);
    return fd;
  }
  // Reads and discards the bytes that have arrived. Returns true if the server has closed the
  // connection.
  static bool has_ended(int fd) {
    std::array<char, 65536> buffer;
    ssize_t got = 0;
    while ((got = recv(fd, buffer.data(), buffer.size(), MSG_DONTWAIT)) > 0) {
    }
    return got == 0;
  }
  // Makes the answer to kLargeRequest larger than the kernel's buffer of a unix socket.
  void make_large_answer() {
    control_.certificate_reports = {{.use = "ca", .subject = std::string(1024 * 1024, 'x')}};
  }
  static constexpr std::string_view kLargeRequest =
      "GET /certificates HTTP/1.1\r\nHost: test\r\n\r\n";

  Reply over_http(const std::string& method, const std::string& path) {
    return ask(http_, method, path);
  }
  Reply over_unix(const std::string& method, const std::string& path) {
    return ask(unix_, method, path);
  }
  Reply in_a_browser(const std::string& path) {
    return ask(http_, "GET", path, "Accept: text/html,application/xml;q=0.9,*/*;q=0.8\r\n");
  }

  FakeControl control_;
  uid_t connect_as_ = geteuid();  // the user id that SO_PEERCRED reports to the server
  const std::string folder_;
  ListenSocket http_;
  ListenSocket unix_;
  Owned<event_base, event_base_free> base_;
  AdminServer server_;

 private:
  static std::string new_folder() {
    std::string folder = testing::TempDir() + "admin-" + std::to_string(getpid());
    std::filesystem::create_directories(folder);
    return folder;
  }
  static ListenSocket open(const Address& address) {
    auto socket = ListenSocket::open(address, 0666);
    CHECK(socket) << socket.error().message;
    return std::move(*socket);
  }

  Reply ask(const ListenSocket& socket, const std::string& method, const std::string& path,
            const std::string& headers = "") {
    const uid_t own = geteuid();
    EXPECT_EQ(seteuid(connect_as_), 0);
    const int fd = connected(socket);
    EXPECT_EQ(seteuid(own), 0);
    const std::string request = method + " " + path +
                                " HTTP/1.1\r\nHost: test\r\nConnection: close\r\n"
                                "Content-Length: 0\r\n" +
                                headers + "\r\n";
    EXPECT_EQ(write(fd, request.data(), request.size()), static_cast<ssize_t>(request.size()));
    fcntl(fd, F_SETFL, O_NONBLOCK);
    std::string text;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (std::chrono::steady_clock::now() < end) {
      event_base_loop(base_.get(), EVLOOP_NONBLOCK);
      std::array<char, 65536> buffer;
      const ssize_t got = read(fd, buffer.data(), buffer.size());
      if (got == 0) break;
      if (got > 0) text.append(buffer.data(), static_cast<size_t>(got));
    }
    close(fd);
    const size_t blank = text.find("\r\n\r\n");
    if (blank == std::string::npos) return {0, text, ""};
    return {std::stoi(text.substr(9, 3)), text.substr(0, blank), text.substr(blank + 4)};
  }
};

TEST_F(Admin, AnswersEveryPageWhereItShould) {
  const struct {
    const char* path;
    int over_http;
    int over_unix;
    const char* type;
    const char* body;
  } rows[] = {
      {"/", 200, 200, "text/plain", "GET  /metrics\n"},
      {"/metrics", 200, 200, "text/plain; version=0.0.4", "# TYPE hatrpc_requests_total counter"},
      {"/healthz", 200, 200, "text/plain", "ok\n"},
      {"/healthz/live", 200, 200, "text/plain", "ok\n"},
      {"/readyz", 200, 200, "text/plain", "ready\n"},
      {"/healthz/ready", 200, 200, "text/plain", "ready\n"},
      {"/routes", 200, 200, "application/json", "\"kv.thrift:3:1\""},
      {"/routes", 200, 200, "application/json", "\"fabric_kind\": \"loop\""},
      {"/status", 200, 200, "application/json", "\"host-a\""},
      {"/functions", 200, 200, "application/json", "\"get\""},
      {"/advice", 200, 200, "application/json", "\"proposals\": []"},
      {"/slow", 200, 200, "application/json", "\"slow\": []"},
      {"/ping", 403, 200, "application/json", "\"config\": \"/etc/hatrpc/host-a.yaml\""},
      {"/ping", 403, 200, "application/json", "\"manifests\": [\n    \"/etc/hatrpc/kv.yaml\"\n  ]"},
      {"/certificates", 403, 200, "application/json", "[]"},
      {"/nothing", 404, 404, "text/plain", "there is no /nothing"},
      {"/metrics/", 404, 404, "text/plain", "there is no /metrics/"},
  };
  for (const auto& row : rows) {
    SCOPED_TRACE(row.path);
    EXPECT_EQ(over_http("GET", row.path).status, row.over_http);
    const Reply reply = over_unix("GET", row.path);
    EXPECT_EQ(reply.status, row.over_unix);
    EXPECT_THAT(reply.head, HasSubstr(std::string("Content-Type: ") + row.type));
    EXPECT_THAT(reply.body, HasSubstr(row.body));
  }
}

TEST_F(Admin, ChangesNothingByGetNorOverTcp) {
  for (const char* path : {"/reload", "/drain", "/reload?dry_run=1"}) {
    EXPECT_EQ(over_unix("GET", path).status, 405) << path;
    EXPECT_EQ(over_unix("HEAD", path).status, 405) << path;
    EXPECT_EQ(over_http("POST", path).status, 403) << path;
    EXPECT_EQ(over_http("GET", path).status, 403) << path;
  }
  EXPECT_EQ(over_unix("POST", "/metrics").status, 405);
  EXPECT_THAT(control_.reloads, IsEmpty());
  EXPECT_EQ(control_.drains, 0);
}

TEST_F(Admin, RefusesMethodsThatItDoesNotKnow) {
  EXPECT_EQ(over_unix("DELETE", "/status").status, 405);
  EXPECT_EQ(over_unix("PUT", "/reload").status, 405);
}

TEST_F(Admin, AnswersHeadWithoutABody) {
  const Reply reply = over_http("HEAD", "/readyz");
  EXPECT_EQ(reply.status, 200);
  EXPECT_THAT(reply.head, HasSubstr("Content-Length: 6"));
  EXPECT_THAT(reply.body, IsEmpty());
}

TEST_F(Admin, GivesBrowsersAPageThatTakesNothingFromElsewhere) {
  const Reply page = in_a_browser("/");
  EXPECT_EQ(page.status, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html; charset=utf-8"));
  EXPECT_THAT(page.head, HasSubstr("X-Content-Type-Options: nosniff"));
  EXPECT_THAT(page.head, HasSubstr("Content-Security-Policy: default-src 'none'; script-src "));
  EXPECT_THAT(page.body, HasSubstr("</html>"));
  EXPECT_THAT(in_a_browser("/metrics").head, HasSubstr("Content-Type: text/plain"));
}

TEST_F(Admin, SaysWhatIsPendingAndWhenAWorkerStands) {
  control_.what_is_pending = {"link to host-b", "link to host-c"};
  const Reply ready = over_http("GET", "/readyz");
  EXPECT_EQ(ready.status, 503);
  EXPECT_EQ(ready.body, "not ready, pending: link to host-b, link to host-c\n");
  control_.is_alive = false;
  EXPECT_EQ(over_http("GET", "/healthz").status, 503);
}

TEST_F(Admin, ReloadsAndReportsWhatChanged) {
  const Reply dry = over_unix("POST", "/reload?dry_run=1");
  EXPECT_EQ(dry.status, 200);
  EXPECT_EQ(over_unix("POST", "/reload?dry_run=0").status, 200);
  EXPECT_EQ(over_unix("POST", "/reload").status, 200);
  EXPECT_THAT(control_.reloads, ElementsAre("dry run", "reload", "reload"));
  EXPECT_EQ(json::parse(dry.body), json({{"ok", true},
                                         {"generation", 8},
                                         {"changes", {"Kv.get: client: a → b"}},
                                         {"warnings", json::array()}}));
}

TEST_F(Admin, RefusesAReloadWithTheReasonEvenWhenItIsNoUtf8) {
  control_.next_report =
      fail(ErrorCode::kInvalid, "manifest.yaml:3:1: error: unknown key 'h\xff'\n");
  const Reply reply = over_unix("POST", "/reload");
  EXPECT_EQ(reply.status, 409);
  const json body = json::parse(reply.body);
  EXPECT_EQ(body.at("ok"), false);
  EXPECT_THAT(body.at("error").get<std::string>(), HasSubstr("manifest.yaml:3:1: error: "));
}

TEST_F(Admin, Drains) {
  const Reply reply = over_unix("POST", "/drain");
  EXPECT_EQ(reply.status, 202);
  EXPECT_EQ(control_.drains, 1);
  EXPECT_EQ(json::parse(over_unix("GET", "/status").body).at("state"), "draining");
}

TEST_F(Admin, LetsOnlyRootAndItsOwnUserChangeAnything) {
  if (geteuid() != 0) GTEST_SKIP() << "needs root, to be somebody else";
  connect_as_ = kNobody;
  for (const char* path : {"/reload", "/reload?dry_run=1", "/drain"}) {
    const Reply reply = over_unix("POST", path);
    EXPECT_EQ(reply.status, 403) << path;
    EXPECT_THAT(reply.body, HasSubstr("only root and hatrpcd's own user"));
  }
  EXPECT_THAT(control_.reloads, IsEmpty());
  EXPECT_EQ(control_.drains, 0);
  EXPECT_EQ(over_unix("GET", "/status").status, 200) << "looking is free";

  ASSERT_EQ(seteuid(kNobody), 0);  // the daemon's user is kNobody from now on
  const int status = over_unix("POST", "/reload").status;
  ASSERT_EQ(seteuid(0), 0);
  EXPECT_EQ(status, 200);
}

TEST_F(Admin, StatusTellsLinksAndPlaces) {
  control_.link_reports = {
      {1, "host-b", "tcp:10.0.0.2:9465", engine::LinkState::kDown, "connection refused", 3, {}}};
  control_.link_reports[0].lanes = {{"rfp", true, "down", "cut", 2}};
  control_.link_reports[0].peer_names = {"host-b", "spiffe://p/host-b"};
  control_.link_reports[0].cores = engine::CoreCounts{28, 14};
  control_.name_reports = {{"dns:kv:7471", {"tcp:10.0.0.2:7471"}, "no answer", 1, 2}};
  control_.config.endpoints.resize(1);
  control_.config.endpoints[0] = {{Address::Kind::kTcp, "127.0.0.1", 9090, ""}, "Kv", {"host-b"}};
  control_.config.serves.resize(1);
  control_.config.serves[0].service = "Kv";
  control_.config.serves[0].upstream = {Address::Kind::kUnix, "", 0, "/run/kv.sock"};
  const json status = json::parse(over_unix("GET", "/status").body);
  EXPECT_EQ(status.at("generation"), 7);
  EXPECT_EQ(status.at("workers"), FakeControl::kWorkers);
  EXPECT_EQ(status.at("worker_placement"),
            json::array({{{"cores", "0"}, {"numa_node", 0}}, {{"cores", ""}, {"numa_node", 1}}}));
  EXPECT_EQ(status.at("fabric"), "loop: shared memory");
  EXPECT_EQ(status.at("fabric_kind"), "loop");
  EXPECT_EQ(status.at("names"), json::array({{{"name", "dns:kv:7471"},
                                              {"addresses", {"tcp:10.0.0.2:7471"}},
                                              {"error", "no answer"}}}));
  EXPECT_EQ(status.at("links"), json::array({{{"worker", 1},
                                              {"peer", "host-b"},
                                              {"address", "tcp:10.0.0.2:9465"},
                                              {"up", false},
                                              {"state", "down"},
                                              {"last_error", "connection refused"},
                                              {"sessions", 3},
                                              {"peer_names", {"host-b", "spiffe://p/host-b"}},
                                              {"peer_cores", {{"cores", 28}, {"nic_cores", 14}}},
                                              {"lanes", json::array({{{"protocol", "rfp"},
                                                                      {"class", "latency"},
                                                                      {"state", "down"},
                                                                      {"failures", 2},
                                                                      {"last_error", "cut"}}})}}}));
  EXPECT_EQ(status.at("endpoints")[0].at("listen"), "tcp:127.0.0.1:9090");
  EXPECT_EQ(status.at("serves")[0].at("mode"), "mirror");
  EXPECT_EQ(status.at("local_replies").size(), engine::kFailureCount);
}

TEST_F(Admin, StatusTellsHowLinksAreSecured) {
  const auto security = [this] {
    return json::parse(over_unix("GET", "/status").body).at("link_security");
  };
  EXPECT_EQ(security(), "none") << "there are no links";
  control_.config.peers.resize(1);
  EXPECT_EQ(security(), "insecure");
  control_.config.link.tls.emplace();
  EXPECT_EQ(security(), "tls");
  control_.certificate_reports = {
      {.use = "ca", .file = "/ca.pem", .subject = "CN=ca", .not_before = 1, .not_after = 2}};
  EXPECT_EQ(
      json::parse(over_http("GET", "/status").body).at("certificates"),
      json::array({{{"use", "ca"}, {"subject", "CN=ca"}, {"not_before", 1}, {"not_after", 2}}}));
}

TEST_F(Admin, LeavesOutWhatWasNeverCalledWhereAsked) {
  control_.registry.find("Kv", "get").at(Side::kServer, 1).started.add();
  EXPECT_EQ(json::parse(over_unix("GET", "/functions").body).size(), 4u) << "get and _other";
  const json called = json::parse(over_unix("GET", "/functions?called=1").body);
  ASSERT_EQ(called.size(), 1u);
  EXPECT_EQ(called[0].at("method"), "get");
  EXPECT_EQ(called[0].at("side"), "server");
}

TEST_F(Admin, SaysWhatCarriedTheCallsOfAFunction) {
  FunctionCounters& get = control_.registry.find("Kv", "get").at(Side::kClient, 0);
  get.started.add();
  const auto by = [](const char* name) { return carrier(*engine::find_protocol(name)); };
  for (int i = 0; i < 3; ++i) get.ways.add({by("direct_write_imm"), by("rfp")});
  get.ways.add({by("direct_write_imm"), Carrier::kNone});
  get.ways.add({Carrier::kTcp, Carrier::kTcp});
  const auto way = [](const char* request, const char* reply, const char* fabric, int calls) {
    return json{{"request_protocol", request},
                {"reply_protocol", reply},
                {"fabric", fabric},
                {"calls", calls}};
  };
  const json functions = json::parse(over_unix("GET", "/functions?called=1").body);
  const json routes = json::parse(over_unix("GET", "/routes").body);
  for (const json& function :
       {functions.at(0), routes.at("services").at(0).at("functions").at(0)}) {
    EXPECT_EQ(function.at("carried"),
              json::array({way("direct_write_imm", "rfp", "verbs:mlx5_0", 3),
                           way("direct_write_imm", "none", "verbs:mlx5_0", 1),
                           way("tcp", "tcp", "tcp", 1)}));
  }
}

TEST_F(Admin, ProposesOtherHints) {
  FunctionSpec get{.name = "get"};
  get.hints.client = {.perf_goal = PerfGoal::kLatency, .payload_bytes = 64 * 1024};
  control_.set_manifest({"", {{"Kv", {}, {get}, ""}}}, {8, 8, true, ""});
  FunctionCounters& counters = control_.registry.find("Kv", "get").at(Side::kClient, 1);
  for (int i = 0; i < 1000; ++i) {
    counters.requests[0].add();
    counters.request_sizes.add(100);
    counters.reply_sizes.add(100);
  }
  control_.observed.sample(TimePoint{} + std::chrono::seconds(90), control_.registry);
  const json advice = json::parse(over_http("GET", "/advice").body);
  EXPECT_EQ(advice.at("window_seconds"), 90);
  ASSERT_EQ(advice.at("proposals").size(), 1u);
  json proposal = advice.at("proposals").at(0);
  EXPECT_THAT(proposal.at("gain").get<std::string>(), HasSubstr("slots"));
  proposal.erase("gain");
  EXPECT_EQ(proposal, json({{"service", "Kv"},
                            {"function", "get"},
                            {"side", "client"},
                            {"changes", json::array({{{"group", "c_hint"},
                                                      {"key", "payload_size"},
                                                      {"from", "64KiB"},
                                                      {"to", "128B"}}})},
                            {"evidence", "99% of 1000 requests have at most 128B"}}));
}

TEST_F(Admin, ReportsOfCertificates) {
  control_.certificate_reports = {{.use = "certificate",
                                   .file = "/a.pem",
                                   .subject = "CN=host-a",
                                   .issuer = "CN=ca",
                                   .names = {"host-a"},
                                   .not_before = 1,
                                   .not_after = 2,
                                   .serial = "4f",
                                   .fingerprint = "ab"}};
  EXPECT_EQ(json::parse(over_unix("GET", "/certificates").body),
            json::array({{{"use", "certificate"},
                          {"file", "/a.pem"},
                          {"subject", "CN=host-a"},
                          {"issuer", "CN=ca"},
                          {"names", json::array({"host-a"})},
                          {"not_before", 1},
                          {"not_after", 2},
                          {"serial", "4f"},
                          {"fingerprint", "ab"}}}));
}

TEST_F(Admin, CalibratesWhenTold) {
  EXPECT_EQ(over_http("POST", "/calibrate?peer=host-b").status, 403);
  EXPECT_EQ(json::parse(over_unix("GET", "/calibration").body).at("state"), "none");
  const Reply begun = over_unix("POST", "/calibrate?peer=host-b");
  EXPECT_EQ(begun.status, 202);
  EXPECT_EQ(json::parse(begun.body).at("number"), 3);
  const json running = json::parse(over_unix("GET", "/calibration").body);
  EXPECT_EQ(running.at("state"), "running");
  EXPECT_EQ(running.at("peer"), "host-b");
  control_.last_calibration.state = CalibrationReport::State::kDone;
  control_.last_calibration.profile =
      Profile{.peer = "host-b", .costs = {.fabric = "loop", .put = {{8, 61.24}}}};
  const json done = json::parse(over_unix("GET", "/calibration").body);
  EXPECT_EQ(done.at("costs").at("put").at(0).at("ns"), 61.2);
  EXPECT_THAT(done.at("profile").get<std::string>(), HasSubstr("put: {8: 61.2}"));
  const Reply refused = over_unix("POST", "/calibrate?peer=host%2Dc");
  EXPECT_EQ(refused.status, 404);
  EXPECT_EQ(json::parse(refused.body).at("error"), "no peer is called 'host-c'");
}

TEST_F(Admin, ClosesTheOldestOfTooManyConnections) {
  std::vector<Descriptor> idle;
  for (size_t i = 0; i < AdminConnections::kMax + 2; ++i) {
    idle.emplace_back(connected(http_));
    iterate();
  }
  iterate();
  EXPECT_TRUE(has_ended(idle[0].get()));
  EXPECT_TRUE(has_ended(idle[1].get()));
  EXPECT_FALSE(has_ended(idle[2].get()));
  const std::string page = over_http("GET", "/metrics").body;
  EXPECT_THAT(page, HasSubstr("\nhatrpc_admin_connections_open 64\n"));
  EXPECT_THAT(page, HasSubstr("\nhatrpc_admin_connections_closed_total 3\n"));
  idle.clear();
  iterate();
  EXPECT_THAT(over_unix("GET", "/metrics").body, HasSubstr("\nhatrpc_admin_connections_open 1\n"));
}

TEST_F(Admin, ClosesTheOldestEvenWhereItDoesNotReadItsAnswer) {
  make_large_answer();
  std::vector<Descriptor> open;
  for (size_t i = 0; i < AdminConnections::kMax; ++i) open.emplace_back(connected(unix_));
  for (const Descriptor* deaf : {&open[0], &open[1]}) {
    ASSERT_GT(write(deaf->get(), kLargeRequest.data(), kLargeRequest.size()), 0);
    iterate();
  }
  EXPECT_EQ(over_unix("GET", "/healthz").status, 200);
  EXPECT_TRUE(has_ended(open[0].get()));
  EXPECT_FALSE(has_ended(open[1].get()));
}

TEST_F(Admin, ReadsLittleBehindARequestWhoseAnswerNobodyReads) {
  make_large_answer();
  const Descriptor client(connected(unix_));
  ASSERT_GT(write(client.get(), kLargeRequest.data(), kLargeRequest.size()), 0);
  const std::string more(64 * 1024, 'x');
  size_t sent = 0;
  for (int i = 0; i < 200; ++i) {
    iterate();
    const ssize_t done = send(client.get(), more.data(), more.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (done > 0) sent += static_cast<size_t>(done);
  }
  EXPECT_LT(sent, 1024u * 1024) << "what the socket holds, and kInputMax";
}

TEST_F(Admin, DoesNotSpinWhereNoDescriptorIsLeft) {
  const Descriptor client(connected(http_));  // stays in the accept queue at first
  const int lowest_free = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::close(lowest_free);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none_left{static_cast<rlim_t>(lowest_free), before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none_left), 0);
  const int iterations = iterations_within(std::chrono::milliseconds(200));
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LT(iterations, 50);  // there would be thousands if the server tried again at once
  EXPECT_EQ(over_http("GET", "/healthz").status, 200) << "takes connections again";
}

TEST_F(Admin, RoutesSayWhetherTheHintNumaIsHonoured) {
  control_.numa.verdicts[{Side::kClient, "Kv", "get"}] = {.wanted = "1", .why = "no worker"};
  control_.numa.verdicts[{Side::kServer, "Kv", "get"}] = {.wanted = "nic", .node = 0};
  const json routes = json::parse(over_unix("GET", "/routes").body);
  const json& function = routes.at("services").at(0).at("functions").at(0);
  EXPECT_EQ(function.at("client").at("numa"),
            json({{"hint", "1"}, {"node", nullptr}, {"not_honoured", "no worker"}}));
  EXPECT_EQ(function.at("server").at("numa"),
            json({{"hint", "nic"}, {"node", 0}, {"not_honoured", ""}}));
  const json& other = routes.at("services").at(0).at("functions").at(1);
  EXPECT_EQ(other.at("client").at("numa"), nullptr);
}

TEST_F(Admin, RoutesGiveThePlansForPeersWithTheirOwnCosts) {
  FunctionSpec get{.name = "get"};
  get.hints.both.payload_bytes = 16'384;
  engine::HostFacts host{8, 8, true, ""};
  host.measured_with["host-b"] = engine::cheap_writes();
  control_.set_manifest({"", {{"Kv", {}, {get, {.name = "small"}}, ""}}}, host);
  const json routes = json::parse(over_unix("GET", "/routes").body);
  const json& functions = routes.at("services").at(0).at("functions");
  const json& to_b = functions.at(0).at("client_to").at("host-b");
  EXPECT_EQ(functions.at(0).at("client").at("plan"), "hybrid_eager_rndv, adaptive");
  EXPECT_EQ(to_b.at("plan"), "≤32KiB direct_write_imm, larger write_rndv; adaptive");
  EXPECT_EQ(to_b.at("reply_protocol"), "direct_write_imm");
  EXPECT_FALSE(to_b.contains("change_nothing"));
  EXPECT_EQ(functions.at(1).at("client_to"), json::object()) << "the costs change nothing";
}

TEST_F(Admin, RoutesGiveTheProtocolOfRepliesFromEachHost) {
  FunctionSpec get{.name = "get"};
  get.hints.both.perf_goal = PerfGoal::kThroughput;
  get.hints.both.payload_bytes = 131'072;
  get.hints.both.concurrency = 6u;
  control_.set_manifest({"", {{"Kv", {}, {get}, ""}, {"Log", {}, {}, ""}}});
  control_.config.endpoints = {
      {*parse_address("tcp:127.0.0.1:9090"), "Kv", {"host-b", "host-c", "host-d"}},
      {*parse_address("tcp:127.0.0.1:9091"), "Log", {"host-e"}}};
  constexpr auto kUp = engine::LinkState::kUp;
  control_.link_reports = {{0, "host-b", "", kUp},
                           {1, "host-b", "", kUp},
                           {0, "host-c", "", kUp},
                           {0, "host-d", "", kUp},
                           {0, "host-e", "", kUp}};
  control_.link_reports[1].cores = engine::CoreCounts{4, 4};
  control_.link_reports[2].cores = engine::CoreCounts{28, 14};
  control_.link_reports[4].cores = engine::CoreCounts{2, 2};  // serves another service
  for (LinkReport& link : control_.link_reports) link.legs = engine::kAllLegs;
  const auto read = [&] { return json::parse(over_unix("GET", "/routes").body); };
  const json routes = read();
  EXPECT_EQ(routes.at("host"), json({{"cores", 8}, {"nic_cores", 8}}));
  const json& function = routes.at("services").at(0).at("functions").at(0);
  const auto reply = [](const char* peer, int cores, int near, const char* protocol) {
    return json{{"peer", peer}, {"cores", cores}, {"nic_cores", near}, {"protocol", protocol}};
  };
  EXPECT_EQ(function.at("reply_protocol"), "direct_write_imm");
  EXPECT_EQ(function.at("replies"), json::array({reply("host-b", 4, 4, "rfp"),
                                                 reply("host-c", 28, 14, "direct_write_imm")}))
      << "host-d does not say which cores it has";
  control_.link_reports[1].legs &= ~engine::bit_of(engine::Leg::kFetch0);
  control_.link_reports[2].legs = 0;
  EXPECT_EQ(read().at("services").at(0).at("functions").at(0).at("replies"),
            json::array({reply("host-b", 4, 4, "direct_write_imm")}))
      << "host-b cannot serve fetches, and host-c has no lanes";
}

TEST_F(Admin, RoutesShowWhatWasLearned) {
  control_.learned_reports = {{1,
                               {.peer = "host-b",
                                .service = "Kv",
                                .method = "get",
                                .choice = "rfp, event",
                                .is_kept = true,
                                .searching = true,
                                .trials = 5,
                                .changes = 1,
                                .noise = 0.25,
                                .measures = "mean time of a call",
                                .costs = {{"rfp, event", 41'000}}}}};
  const json routes = json::parse(over_unix("GET", "/routes").body);
  const json& functions = routes.at("services").at(0).at("functions");
  EXPECT_EQ(
      functions.at(0).at("learned"),
      json::array({{{"worker", 1},
                    {"peer", "host-b"},
                    {"choice", "rfp, event"},
                    {"kept", true},
                    {"searching", true},
                    {"trials", 5},
                    {"changes", 1},
                    {"noise", 0.25},
                    {"measures", "mean time of a call"},
                    {"costs", json::array({{{"choice", "rfp, event"}, {"ns", 41'000.0}}})}}}));
  EXPECT_EQ(functions.at(1).at("learned"), json::array()) << "another function";
}

TEST_F(Admin, RoutesNameTheHintsThatChangeNothing) {
  FunctionSpec get{.name = "get"};
  get.hints.server.perf_goal = PerfGoal::kLatency;
  get.hints.server.concurrency = 3u;
  control_.set_manifest({"", {{"Kv", {}, {get}, ""}}});
  const json routes = json::parse(over_unix("GET", "/routes").body);
  const json& function = routes.at("services").at(0).at("functions").at(0);
  EXPECT_EQ(function.at("client").at("change_nothing"), json::array());
  EXPECT_EQ(
      function.at("server").at("change_nothing"),
      json::array({{{"hint", "concurrency: 3"},
                    {"why", "it selects the column under, which also applies without the hint"}}}));
}

}  // namespace
}  // namespace hat
