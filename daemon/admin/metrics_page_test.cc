// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/metrics_page.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <thread>

#include "daemon/admin/fake_control.h"
#include "daemon/admin/metrics_reader_for_tests.h"
#include "engine/plan/fake_costs.h"

namespace hat {
namespace {

using Labels = std::map<std::string, std::string>;
using namespace std::chrono_literals;

TEST(MetricsText, RefusesWhatIsNoExposition) {
  const struct {
    const char* what;
    const char* text;
  } rows[] = {
      {"no type", "# HELP a b\na 1\n"},
      {"sample of another family", "# HELP a b\n# TYPE a gauge\nc 1\n"},
      {"series twice", "# HELP a b\n# TYPE a gauge\na{x=\"1\"} 1\na{x=\"1\"} 2\n"},
      {"family twice", "# HELP a b\n# TYPE a gauge\na 1\n# HELP a b\n# TYPE a gauge\n"},
      {"bad escape", "# HELP a b\n# TYPE a gauge\na{x=\"\\t\"} 1\n"},
      {"open quote", "# HELP a b\n# TYPE a gauge\na{x=\"1} 1\n"},
      {"no value", "# HELP a b\n# TYPE a gauge\na \n"},
      {"no number", "# HELP a b\n# TYPE a gauge\na 1x\n"},
      {"bare histogram", "# HELP a b\n# TYPE a histogram\na 1\n"},
      {"bucket without bound", "# HELP a b\n# TYPE a histogram\na_bucket 1\n"},
      {"no end of line", "# HELP a b\n# TYPE a gauge\na 1"},
  };
  for (const auto& row : rows) EXPECT_FALSE(read_metrics(row.text)) << row.what;
  EXPECT_TRUE(read_metrics("# HELP a b\n# TYPE a gauge\na{x=\"\\\"\\\\\\n\"} 1\na{x=\"2\",} 2\n"));
}

class Exposition : public testing::Test {
 protected:
  std::vector<MetricFamilyText> families() {
    auto read = read_metrics(metrics_page(control_, {}, page_));
    EXPECT_TRUE(read) << read.error().message;
    return read ? *read : std::vector<MetricFamilyText>{};
  }
  // Returns the value of a series; NaN if the series does not exist.
  double value(const std::string& name, const Labels& labels = {}) {
    for (const auto& family : families()) {
      for (const auto& sample : family.samples) {
        if (sample.name == name && sample.labels == labels) return sample.value;
      }
    }
    return std::nan("");
  }
  // Returns the number of series that have all of `labels`.
  size_t series_of(const Labels& labels) {
    size_t count = 0;
    for (const auto& family : families()) {
      for (const auto& sample : family.samples) {
        if (std::ranges::includes(sample.labels, labels)) ++count;
      }
    }
    return count;
  }
  FunctionCounters& get(Side side, size_t worker) {
    return control_.registry.find("Kv", "get").at(side, worker);
  }
  static Labels of_get(const char* side, Labels more = {}) {
    more.insert({{"side", side}, {"thrift_service", "Kv"}, {"thrift_method", "get"}});
    return more;
  }

  static Labels carried(const char* request, const char* reply, const char* fabric) {
    return {{"request_protocol", request},
            {"reply_protocol", reply},
            {"fabric", fabric},
            {"thrift_service", "Kv"},
            {"thrift_method", "get"}};
  }

  FakeControl control_;
  MetricFamilies page_;
};

// Creates one object of each kind that adds series: a link, a lane, a certificate, a name, a rule
// and a called function.
TEST_F(Exposition, KeepsPrometheusNaming) {
  control_.link_reports = {
      {0, "host-b", "tcp:x:1", engine::LinkState::kUp, "", 1, {{"rfp", true, "up", "", 0}}, {}}};
  control_.counters[0].peer_events.add_peer("host-b");
  control_.certificate_reports = {{.use = "certificate", .subject = "CN=host-a", .not_after = 90}};
  control_.name_reports.resize(1);
  control_.set_manifest({"", {{"Kv", {}, {{"get", false, {}, ""}}, "", AccessRule{{"host-b"}}}}});
  get(Side::kClient, 0).started.add();
  for (const auto& family : families()) {
    SCOPED_TRACE(family.name);
    EXPECT_TRUE(family.name.starts_with("hatrpc_") || family.name.starts_with("process_"));
    EXPECT_EQ(family.type == "counter", family.name.ends_with("_total"));
    EXPECT_THAT(family.help, testing::EndsWith("."));
    EXPECT_FALSE(family.samples.empty());
  }
}

TEST_F(Exposition, HasWhatBelongsToNoFunctionFromTheStartAtZero) {
  for (const auto& failure : engine::kFailureTexts) {
    EXPECT_EQ(value("hatrpc_local_replies_total", {{"reason", std::string(failure.token)}}), 0);
  }
  EXPECT_EQ(value("hatrpc_config_reloads_total", {{"result", "refused"}}), 0);
}

TEST_F(Exposition, HasTheSeriesOfThePlansForPeersFromTheFirstCallOn) {
  FunctionSpec spec{.name = "get"};
  spec.hints.both.payload_bytes = 16'384;
  engine::HostFacts host{8, 8, true, ""};
  host.measured_with["host-b"] = engine::cheap_writes();
  control_.set_manifest({"", {{"Kv", {}, {spec}, ""}}}, host);
  get(Side::kClient, 1).started.add();  // the call has not ended yet
  const std::string fabric = control_.fabric_label();
  for (const char* protocol : {"hybrid_eager_rndv", "direct_write_imm"}) {
    EXPECT_EQ(value("hatrpc_calls_total", carried(protocol, protocol, fabric.c_str())), 0);
  }
}

TEST_F(Exposition, HasAllSeriesOfAFunctionsSideFromTheFirstCallOn) {
  EXPECT_EQ(series_of({{"thrift_method", "get"}}), 0u);
  get(Side::kClient, 1).started.add();  // the call has not ended yet
  for (const char* outcome : kCallOutcomeNames) {
    EXPECT_EQ(value("hatrpc_requests_total", of_get("client", {{"outcome", outcome}})), 0)
        << outcome;
  }
  EXPECT_EQ(value("hatrpc_requests_in_flight", of_get("client")), 1);
  EXPECT_EQ(value("hatrpc_request_duration_seconds_count", of_get("client")), 0);
  const auto of_client = [](const char* label, std::string_view value) {
    return Labels{{label, std::string(value)}, {"thrift_service", "Kv"}, {"thrift_method", "get"}};
  };
  EXPECT_EQ(value("hatrpc_calls_total", carried("tcp", "tcp", "tcp")), 0);
  for (const auto& reason : kFallbackNames) {
    EXPECT_EQ(value("hatrpc_fallbacks_total", of_client("reason", reason)), 0) << reason;
  }
  const Labels plan = of_get(
      "client", {{"plan", describe(control_.routes()->find("Kv")->find("get").client.plan)}});
  EXPECT_EQ(value("hatrpc_route_info", plan), 1);
  EXPECT_EQ(series_of({{"thrift_method", "get"}, {"side", "server"}}), 0u);
  EXPECT_EQ(series_of({{"thrift_method", "_other"}}), 0u);

  control_.registry.find("Kv", "_other").at(Side::kServer, 0).started.add();
  const Labels other{{"side", "server"}, {"thrift_service", "Kv"}, {"thrift_method", "_other"}};
  EXPECT_EQ(value("hatrpc_requests_in_flight", other), 1);
}

// The plan's protocols and TCP have series from the first call on, and all other ways once they
// were used. Calls over TCP have the fabric `tcp`.
TEST_F(Exposition, HasTheProtocolsThatThePlanNamesAndThoseThatWereUsed) {
  engine::HostFacts host{8, 8, true, ""};
  FunctionSpec function{.name = "get"};
  function.hints.client.protocol = "direct_write_imm";
  function.hints.server.protocol = "rfp";
  control_.set_manifest({"", {{"Kv", {}, {function}, ""}}}, host);
  const std::string calls = "hatrpc_calls_total";
  const auto series = [&] {
    const auto all = families();
    return std::ranges::find(all, calls, &MetricFamilyText::name)->samples.size();
  };
  get(Side::kClient, 1).started.add();
  EXPECT_EQ(series(), 2u);
  EXPECT_EQ(value(calls, carried("tcp", "tcp", "tcp")), 0);
  EXPECT_EQ(value(calls, carried("direct_write_imm", "rfp", "verbs:mlx5_0")), 0);

  const auto by = [](const char* name) { return carrier(*engine::find_protocol(name)); };
  get(Side::kClient, 0).ways.add({by("direct_write_imm"), by("rfp")});
  get(Side::kClient, 1).ways.add({by("direct_write_imm"), by("rfp")});
  get(Side::kClient, 1).ways.add({by("direct_write_imm"), by("eager")});
  get(Side::kClient, 1).ways.add({Carrier::kTcp, Carrier::kNone});
  EXPECT_EQ(series(), 4u);
  EXPECT_EQ(value(calls, carried("direct_write_imm", "rfp", "verbs:mlx5_0")), 2);
  EXPECT_EQ(value(calls, carried("direct_write_imm", "eager", "verbs:mlx5_0")), 1);
  EXPECT_EQ(value(calls, carried("tcp", "none", "tcp")), 1);
}

TEST_F(Exposition, HasSeriesForRequestsOfAllSizesOfThePlan) {
  FunctionSpec function{.name = "get"};
  function.hints.both.perf_goal = PerfGoal::kResUtil;
  control_.set_manifest({"", {{"Kv", {}, {function}, ""}}}, {8, 8, true, ""});
  get(Side::kClient, 0).started.add();
  for (const char* request : {"direct_write_imm", "write_rndv"}) {
    EXPECT_EQ(value("hatrpc_calls_total", carried(request, "direct_write_imm", "verbs:mlx5_0")), 0)
        << request;
  }
}

TEST_F(Exposition, HasNoReplyInTheSeriesOfAOnewayFunction) {
  FunctionSpec function{.name = "get", .oneway = true};
  function.hints.both.protocol = "direct_write_imm";
  control_.set_manifest({"", {{"Kv", {}, {function}, ""}}}, {8, 8, true, ""});
  get(Side::kClient, 0).started.add();
  EXPECT_EQ(value("hatrpc_calls_total", carried("tcp", "none", "tcp")), 0);
  EXPECT_EQ(value("hatrpc_calls_total", carried("direct_write_imm", "none", "verbs:mlx5_0")), 0);
  const auto all = families();
  EXPECT_EQ(std::ranges::find(all, "hatrpc_calls_total", &MetricFamilyText::name)->samples.size(),
            2u);
}

TEST_F(Exposition, StaysSmallHoweverManyFunctionsAreNeverCalled) {
  const size_t before = series_of({});
  Manifest manifest;
  for (int i = 0; i < 300; ++i) {
    auto& service = manifest.services.emplace_back();
    service.name = "Service" + std::to_string(i);
    for (int j = 0; j < 40; ++j) {
      service.functions.emplace_back().name = "function" + std::to_string(j);
    }
  }
  control_.set_manifest(manifest);
  EXPECT_EQ(series_of({}), before);
  control_.registry.find("Service7", "function3").at(Side::kServer, 0).started.add();
  EXPECT_GT(series_of({{"thrift_service", "Service7"}, {"thrift_method", "function3"}}), 30u);
  EXPECT_LT(series_of({}), before + 50);
}

// The series must exist before a function's first call, because that call can be denied.
TEST_F(Exposition, HasDenialsOfAFunctionWithARuleFromTheStart) {
  control_.set_manifest({"", {{"Kv", {}, {{"get", false, {}, ""}}, "", AccessRule{{"host-b"}}}}});
  for (const char* mode : {"enforce", "dry_run"}) {
    EXPECT_EQ(value("hatrpc_authz_denied_total",
                    {{"mode", mode}, {"thrift_service", "Kv"}, {"thrift_method", "get"}}),
              0);
  }
}

TEST_F(Exposition, AddsUpTheWorkers) {
  get(Side::kClient, 0).started.add(3);
  get(Side::kClient, 0).requests[static_cast<size_t>(CallOutcome::kSuccess)].add(2);
  get(Side::kClient, 1).started.add(2);
  get(Side::kClient, 1).requests[static_cast<size_t>(CallOutcome::kSuccess)].add(1);
  for (const uint64_t bytes : {60u, 40u}) get(Side::kClient, 1).request_sizes.add(bytes);
  control_.counters[0].connections_open.add(5);
  control_.counters[1].connections_open.add(4);
  control_.counters[1].local_replies[static_cast<size_t>(engine::Failure::kDraining)].add(6);

  EXPECT_EQ(value("hatrpc_requests_total", of_get("client", {{"outcome", "success"}})), 3);
  EXPECT_EQ(value("hatrpc_requests_in_flight", of_get("client")), 2);
  EXPECT_EQ(value("hatrpc_request_bytes_total", of_get("client")), 100) << "the sum of the sizes";
  EXPECT_EQ(value("hatrpc_connections_open"), 9);
  EXPECT_EQ(value("hatrpc_local_replies_total", {{"reason", "draining"}}), 6);
}

TEST_F(Exposition, AddsUpTheEventsOfEachPeer) {
  for (auto& one : control_.counters) one.peer_events.add_peer("host-b");
  PeerEvents& first = control_.counters[0].peer_events;
  for (int i = 0; i < 3; ++i) first.add("host-b", PeerEvent::kSession);
  control_.counters[1].peer_events.add("host-b", PeerEvent::kSession);
  first.add_peer("host-c");
  EXPECT_EQ(value("hatrpc_peer_sessions_total", {{"peer", "host-b"}}), 4);
  EXPECT_EQ(value("hatrpc_peer_sessions_total", {{"peer", "host-c"}}), 0) << "from the start";
  first.remove_peer("host-c");
  first.add("host-c", PeerEvent::kSession);
  EXPECT_FALSE(first.all().contains("host-c"));
  for (auto& one : control_.counters) one.peer_events.add("host-b", PeerEvent::kIdleEnd);
  first.add("host-b", PeerEvent::kEjection);
  EXPECT_EQ(value("hatrpc_idle_links_ended_total", {{"peer", "host-b"}}), FakeControl::kWorkers);
  EXPECT_EQ(value("hatrpc_peer_ejections_total", {{"peer", "host-b"}}), 1);
  first.add("host-b", PeerEvent::kResume);
  EXPECT_EQ(value("hatrpc_streams_resumed_total", {{"peer", "host-b"}}), 1);
}

TEST_F(Exposition, APeerIsSlowIfItIsForOneWorker) {
  control_.link_reports = {{.worker = 0, .peer = "host-b"},
                           {.worker = 0, .peer = "host-c"},
                           {.worker = 1, .peer = "host-b", .is_slow = true},
                           {.worker = 1, .peer = "host-c"}};
  EXPECT_EQ(value("hatrpc_peer_slow", {{"peer", "host-b"}}), 1);
  EXPECT_EQ(value("hatrpc_peer_slow", {{"peer", "host-c"}}), 0);
}

TEST_F(Exposition, SaysThatItDrains) {
  EXPECT_EQ(value("hatrpc_draining"), 0);
  control_.drain();
  EXPECT_EQ(value("hatrpc_draining"), 1);
}

TEST_F(Exposition, ReportsItsProcess) {
  EXPECT_EQ(value("hatrpc_workers"), FakeControl::kWorkers);
  rlimit limit{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &limit), 0);
  EXPECT_EQ(value("process_max_fds"), static_cast<double>(limit.rlim_cur));
  EXPECT_GT(value("process_open_fds"), 2);
}

// A scrape reads the counters without a lock, so it can see that a call has ended (in `requests`)
// but not yet that the call has begun (in `started`).
TEST_F(Exposition, NeverSaysThatLessThanNoCallIsInFlight) {
  get(Side::kServer, 0).started.add(1);
  get(Side::kServer, 0).requests[0].add(2);
  EXPECT_EQ(value("hatrpc_requests_in_flight", of_get("server")), 0);
}

TEST_F(Exposition, HasCumulativeHistogramsThatEndInInf) {
  get(Side::kClient, 0).started.add(4);
  get(Side::kClient, 0).latency.add(900ns);
  get(Side::kClient, 0).latency.add(3us);
  get(Side::kClient, 1).latency.add(3us);
  get(Side::kClient, 1).latency.add(20s);

  const auto bucket = [&](const char* bound) {
    return value("hatrpc_request_duration_seconds_bucket", of_get("client", {{"le", bound}}));
  };
  EXPECT_EQ(bucket("1e-06"), 1);
  EXPECT_EQ(bucket("2e-06"), 1);
  EXPECT_EQ(bucket("4e-06"), 3);
  EXPECT_EQ(bucket("8.388608"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
  EXPECT_EQ(value("hatrpc_request_duration_seconds_count", of_get("client")), 4);
  EXPECT_NEAR(value("hatrpc_request_duration_seconds_sum", of_get("client")), 20.0000069, 1e-9);

  double before = -1;
  double bound_before = 0;
  for (const auto& family : families()) {
    if (family.type != "histogram") continue;
    for (const auto& sample : family.samples) {
      const auto bound = sample.labels.find("le");
      if (bound == sample.labels.end()) continue;
      const double upper = bound->second == "+Inf" ? HUGE_VAL : std::stod(bound->second);
      if (upper <= bound_before) before = -1;  // a new series begins
      EXPECT_GE(sample.value, before) << sample.labels.at("side") << " " << bound->second;
      before = sample.value;
      bound_before = upper;
    }
  }
}

TEST_F(Exposition, HasTheBucketsOfTheConfiguration) {
  control_.config.admin.duration_buckets.reset().set(1).set(10);  // 2 µs and 1024 µs
  get(Side::kClient, 0).started.add(4);
  for (const auto took : {1us, 2us, 3us, 1025us}) get(Side::kClient, 0).latency.add(took);
  const auto bucket = [&](const char* bound) {
    return value("hatrpc_request_duration_seconds_bucket", of_get("client", {{"le", bound}}));
  };
  EXPECT_EQ(bucket("2e-06"), 2);
  EXPECT_EQ(bucket("0.001024"), 3);
  EXPECT_EQ(bucket("+Inf"), 4);
  EXPECT_EQ(value("hatrpc_request_duration_seconds_count", of_get("client")), 4);
  for (const auto& family : families()) {
    if (family.type != "histogram") continue;
    EXPECT_EQ(family.samples.size(), 5u) << family.name;
  }
}

// A page keeps labels of the page before it, but none that a reload changes.
TEST_F(Exposition, FollowsAReload) {
  get(Side::kClient, 0).started.add(2);
  get(Side::kClient, 0).latency.add(3us);
  const auto series_with = [&](std::string_view plan) {
    return series_of(of_get("client", {{"plan", std::string(plan)}}));
  };
  const auto plan_now = [&] {
    return describe(control_.routes()->find("Kv")->find("get").client.plan);
  };
  const std::string before = plan_now();
  EXPECT_EQ(series_with(before), 1u);
  const size_t series = series_of({});

  FunctionSpec function{"get", false, {}, ""};
  function.hints.client.protocol = "direct_write_imm";
  control_.set_manifest({"", {{"Kv", {}, {function}, ""}}}, {8, 8, true, ""});
  control_.config.admin.duration_buckets.reset().set(1).set(10);
  EXPECT_NE(plan_now(), before);
  EXPECT_EQ(series_with(before), 0u);
  EXPECT_EQ(series_with(plan_now()), 1u);
  EXPECT_EQ(value("hatrpc_request_duration_seconds_bucket", of_get("client", {{"le", "2e-06"}})),
            0);
  EXPECT_LT(series_of({}), series);

  const std::string last = plan_now();
  control_.set_manifest({});
  EXPECT_EQ(series_with(last), 0u) << "the function is removed";
  EXPECT_EQ(value("hatrpc_requests_in_flight", of_get("client")), 2);
}

// A test with ThreadSanitizer also shows that the page and the workers need no lock.
TEST_F(Exposition, IsMadeWhileAWorkerCounts) {
  std::atomic<bool> ends{false};
  FunctionCounters& counters = get(Side::kClient, 0);
  counters.started.add();
  const Carrier tcp = Carrier::kTcp;
  std::thread worker([&] {
    while (!ends) {
      counters.started.add();
      counters.latency.add(3us);
      counters.ways.add({tcp, tcp});
      counters.requests[0].add();
    }
  });
  double before = 0;
  for (int page = 0; page < 20; ++page) {
    const double calls = value("hatrpc_requests_total", of_get("client", {{"outcome", "success"}}));
    EXPECT_GE(calls, before);
    before = calls;
  }
  ends = true;
  worker.join();
  EXPECT_EQ(value("hatrpc_requests_total", of_get("client", {{"outcome", "success"}})),
            value("hatrpc_calls_total", carried("tcp", "tcp", "tcp")));
}

TEST_F(Exposition, CountsItsSeries) {
  get(Side::kClient, 0).started.add();
  EXPECT_EQ(value("hatrpc_metrics_series"), series_of({}));
  const auto read = read_metrics(metrics_page(control_, {.page_seconds = 0.25}, page_));
  ASSERT_TRUE(read);
  const auto found =
      std::ranges::find(*read, "hatrpc_metrics_page_seconds", &MetricFamilyText::name);
  ASSERT_NE(found, read->end());
  EXPECT_EQ(found->samples.at(0).value, 0.25);
}

TEST_F(Exposition, EscapesWhatStandsInLabels) {
  const std::string odd = "a\"b\\c\nd";
  control_.link_reports = {{0, odd, "tcp:x:1", engine::LinkState::kUp, "", 1},
                           {1, odd, "tcp:x:1", engine::LinkState::kIdle, "", 1}};
  EXPECT_EQ(value("hatrpc_peer_up", {{"peer", odd}}), 1);
}

TEST_F(Exposition, KeepsTheSeriesOfAFunctionThatIsGone) {
  get(Side::kClient, 0).started.add(4);
  get(Side::kClient, 0).requests[0].add(4);
  control_.set_manifest({});
  EXPECT_EQ(value("hatrpc_requests_total", of_get("client", {{"outcome", "success"}})), 4);
  EXPECT_TRUE(std::isnan(value("hatrpc_route_info", of_get("client"))));
}

TEST_F(Exposition, SaysWhichNamesHaveAddressesAndWhichLookupsFail) {
  control_.name_reports = {{"dns:kv:7471", {"tcp:10.0.0.2:7471", "tcp:10.0.0.3:7471"}, "", 5, 1},
                           {"srv:kv", {}, "no answer", 0, 3}};
  EXPECT_EQ(value("hatrpc_discovery_addresses", {{"name", "dns:kv:7471"}}), 2);
  EXPECT_EQ(value("hatrpc_discovery_addresses", {{"name", "srv:kv"}}), 0);
  EXPECT_EQ(value("hatrpc_discovery_failing", {{"name", "dns:kv:7471"}}), 0);
  EXPECT_EQ(value("hatrpc_discovery_failing", {{"name", "srv:kv"}}), 1);
  const std::string lookups = "hatrpc_discovery_lookups_total";
  EXPECT_EQ(value(lookups, {{"name", "dns:kv:7471"}, {"result", "success"}}), 5);
  EXPECT_EQ(value(lookups, {{"name", "dns:kv:7471"}, {"result", "failed"}}), 1);
}

TEST_F(Exposition, CountsSpans) {
  EXPECT_EQ(value("hatrpc_spans_written_total"), 0);
  control_.span_counts = {7, 3};
  EXPECT_EQ(value("hatrpc_spans_written_total"), 7);
  EXPECT_EQ(value("hatrpc_spans_lost_total"), 3);
}

TEST_F(Exposition, SumsTheHandshakesOfAllWorkersAndTellsWhenCertificatesEnd) {
  control_.counters[0].tls.handshakes.add(2);
  control_.counters[1].tls.handshakes.add(3);
  control_.counters[1].tls.failures[static_cast<size_t>(TlsFailure::kExpired)].add(4);
  control_.certificate_reports = {
      {.use = "certificate", .subject = "CN=host-a", .not_before = 10, .not_after = 90},
      {.use = "ca", .subject = "CN=ca", .not_before = 7, .not_after = 80},
      {.use = "ca", .subject = "CN=ca", .not_before = 5, .not_after = 70}};
  EXPECT_EQ(value("hatrpc_tls_handshakes_total"), 5);
  EXPECT_EQ(value("hatrpc_tls_handshake_failures_total", {{"reason", "expired"}}), 4);
  EXPECT_EQ(value("hatrpc_tls_handshake_failures_total", {{"reason", "version"}}), 0);
  const std::string expiry = "hatrpc_tls_certificate_expiry_timestamp_seconds";
  EXPECT_EQ(value(expiry, {{"use", "certificate"}, {"subject", "CN=host-a"}}), 90);
  EXPECT_EQ(value(expiry, {{"use", "ca"}, {"subject", "CN=ca"}}), 80);
  const std::string since = "hatrpc_tls_certificate_not_before_timestamp_seconds";
  EXPECT_EQ(value(since, {{"use", "certificate"}, {"subject", "CN=host-a"}}), 10);
  EXPECT_EQ(value(since, {{"use", "ca"}, {"subject", "CN=ca"}}), 7) << "of the one that ends last";
}

TEST_F(Exposition, CountsTheLinesOfTheAccessLog) {
  control_.logged = {.written = 7, .dropped = 2, .over_rate = 4, .lost = 3};
  EXPECT_EQ(value("hatrpc_access_log_lines_total"), 7);
  const std::string dropped = "hatrpc_access_log_dropped_total";
  EXPECT_EQ(value(dropped, {{"reason", "queue_full"}}), 2);
  EXPECT_EQ(value(dropped, {{"reason", "rate"}}), 4);
  EXPECT_EQ(value(dropped, {{"reason", "write_failed"}}), 3);
}

}  // namespace
}  // namespace hat
