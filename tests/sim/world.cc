// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/world.h"

#include <algorithm>

namespace hat::sim {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr Duration kFaultsEnd = milliseconds(500);
// The time after the last fault within which all calls must be answered. In the worst case, the
// keep-alive must find a dead link, the daemon must connect again, and the peer must answer.
constexpr Duration kAllAnswered = seconds(15);
constexpr Duration kRest = seconds(2);

Address address(const std::string& text) { return *parse_address(text); }

// The ports of the services Mirror, Pool, Liar and LiarPool, in this order. Endpoints are on
// host-a, servers on host-b and host-c.
constexpr const char* kEndpointPorts[] = {":9090", ":9091", ":9092", ":9093"};
constexpr const char* kServerPorts[] = {":9001", ":9002", ":9003", ":9004"};

std::string host_ip(size_t daemon) { return "tcp:10.0.0." + std::to_string(daemon + 1); }

// Returns random hints for one function; in this percentage of cases, `plan: learned`. Different
// hints make the calls of one connection use different RDMA protocols, or TCP.
Hints some_hints(Random& random, uint64_t learned_percent) {
  Hints hints;
  if (learned_percent != 0 && random.percent(learned_percent)) {
    hints.plan = PlanSource::kLearned;
    if (random.percent(50)) hints.payload_bytes = random.log_between(64, 100'000);
    if (random.percent(70)) hints.perf_goal = static_cast<PerfGoal>(random.below(3));
    return hints;
  }
  if (random.percent(20)) hints.transport = hat::Path::kTcp;
  if (random.percent(80)) {
    hints.protocol = std::string(engine::kProtocols[random.below(engine::kProtocols.size())].name);
  }
  if (random.percent(50)) hints.payload_bytes = random.log_between(64, 100'000);
  if (random.percent(30)) hints.perf_goal = PerfGoal::kLatency;
  return hints;
}

Manifest manifest(Random& random, uint64_t learned_percent) {
  Manifest manifest;
  const bool repeats = random.percent(30);
  for (const char* name : {"Mirror", "Pool", "Liar", "LiarPool"}) {
    ServiceSpec service{.name = name};
    service.functions = {{.name = "echo"}, {.name = "timed"}, {.name = "note", .oneway = true}};
    for (FunctionSpec& function : service.functions) {
      function.hints.both = some_hints(random, learned_percent);
      if (random.percent(40)) {
        function.hints.both.priority = static_cast<Priority>(random.below(3));
      }
      function.arguments = {{.id = 1, .type = {.wire = WireType::kI64}},
                            {.id = 2, .type = {.wire = WireType::kString, .is_text = true}}};
    }
    service.functions[0].hints.both.idempotent = repeats;
    service.functions[1].hints.both.timeout =
        std::chrono::duration_cast<milliseconds>(SimClient::kTimeout);
    manifest.services.push_back(service);
  }
  // No peer of the simulation may call this service. So all peers are restricted, and the daemon
  // must check each request before it forwards the request.
  if (random.percent(30)) {
    manifest.services.push_back({.name = "Forbidden", .access = AccessRule{{"host-x"}, false}});
  }
  return manifest;
}

}  // namespace

World::World(uint64_t seed, Canary canary, bool trace)
    : scenario_(canary == Canary::kNone            ? static_cast<Scenario>(seed % kScenarios)
                : canary == Canary::kStarvedClient ? Scenario::kCrowd
                                                   : Scenario::kCalm),
      canary_(canary),
      network_(seed),
      book_(network_),
      random_(seed) {
  if (trace) network_.trace();
  network_.say(std::string("scenario: ") + kScenarioNames[static_cast<size_t>(scenario_)]);
  say_what_may_fail();
  build_servers();
  build_daemons();
  scenario_ == Scenario::kCrowd ? build_crowd() : build_clients();
  if (scenario_ == Scenario::kHostile) build_hostile();
}

void World::say_what_may_fail() {
  // Adds the failures that calls cause. With upstream_closed fail calls whose upstream connection
  // has ended because of another call: it exceeded its time-out, or its request was incomplete.
  const auto and_by_calls = [](std::vector<std::string_view> failures) {
    failures.insert(failures.end(), {"deadline_exceeded", "too_large", "upstream_closed"});
    return failures;
  };
  switch (scenario_) {
    case Scenario::kCalm:
    case Scenario::kHostile:
    case Scenario::kCrowd:
    case Scenario::kLearning:
    case Scenario::kReloads:
      return book_.expect_prompt_answers();
    case Scenario::kLinks:
      book_.expect_prompt_answers();
      return book_.allow(and_by_calls({"link_lost", "peer_unreachable"}));
    case Scenario::kServers:
      book_.expect_prompt_answers();
      // A server that never answers occupies the connections of shared mode. Other calls then find
      // no free connection and fail with "overloaded".
      return book_.allow(and_by_calls({"upstream_unreachable", "overloaded"}));
    case Scenario::kRestarts:
      return book_.allow(and_by_calls({"link_lost", "peer_unreachable"}));
    case Scenario::kDrains:
      return book_.allow({"draining", "peer_unreachable"});
    case Scenario::kEverything:
      return book_.allow(and_by_calls(
          {"link_lost", "peer_unreachable", "upstream_unreachable", "overloaded", "draining"}));
  }
}

void World::build_daemons() {
  constexpr const char* kNames[] = {"host-a", "host-b", "host-c"};
  const bool learning = scenario_ == Scenario::kLearning;
  only_lanes_fail_ = scenario_ == Scenario::kLinks && random_.percent(40);
  const bool some_learn = !nothing_fails() && !only_lanes_fail_;
  Manifest manifest = sim::manifest(random_, learning ? 100 : some_learn ? 30 : 0);
  const FunctionSpec& echo = manifest.services[0].functions[0];
  if (echo.hints.both.idempotent.value_or(false) && !nothing_fails()) book_.may_repeat(echo.name);
  if (scenario_ == Scenario::kCrowd) {  // RDMA lanes of the simulation are never congested for long
    for (FunctionSpec& function : manifest.services[0].functions) {
      function.hints.both.transport = hat::Path::kTcp;
      function.hints.both.priority.reset();  // this scenario is about equal shares
    }
  }
  std::optional<engine::Faults> faults;
  if (random_.percent(60) || learning || only_lanes_fail_) {
    faults = {.seed = random_.next()};
    const bool lanes_fail = scenario_ == Scenario::kLinks || scenario_ == Scenario::kEverything;
    if (only_lanes_fail_ || (lanes_fail && random_.percent(70))) {
      faults->cut_within = random_.between(5, 400);
    }
  }
  for (size_t i = 0; i < std::size(kNames); ++i) {
    NodeConfig node{.node = kNames[i]};
    node.link.listen = address(host_ip(i) + ":9465");
    node.limits.message_bytes_max = 128 * 1024;
    node.limits.shared_request_bytes_max = random_.log_between(1024, 200'000);
    node.limits.calls_per_connection_max = static_cast<uint32_t>(random_.between(2, 40));
    node.limits.connect_timeout = milliseconds(400);
    node.limits.upstream_connect_timeout = milliseconds(400);
    node.limits.peer_wait = milliseconds(200);
    node.limits.keepalive_interval = milliseconds(100);
    node.limits.keepalive_timeout = milliseconds(300);
    node.limits.reconnect_backoff_max = milliseconds(200);
    node.limits.link_idle = milliseconds(random_.log_between(10, 1000));
    node.limits.lane_settle = milliseconds(20);
    node.limits.drain_timeout = seconds(5);
    if (i == 0) {
      for (size_t peer = 1; peer < std::size(kNames); ++peer) {
        node.peers.push_back({kNames[peer], address(host_ip(peer) + ":9465"), {}});
      }
      const bool both = random_.percent(50) && scenario_ != Scenario::kCrowd;
      const std::vector<std::string> peers =
          both ? std::vector<std::string>{"host-b", "host-c"} : std::vector<std::string>{"host-b"};
      node.endpoints = {{address("tcp:10.0.0.1:9090"), "Mirror", peers},
                        {address("tcp:10.0.0.1:9091"), "Pool", peers},
                        {address("tcp:10.0.0.1:9092"), "Liar", peers},
                        {address("tcp:10.0.0.1:9093"), "LiarPool", peers}};
    } else {
      node.serves = {{"Mirror", address(host_ip(i) + ":9001"), UpstreamMode::kMirror},
                     {"Pool", address(host_ip(i) + ":9002"), UpstreamMode::kShared,
                      static_cast<uint32_t>(random_.between(1, 4))},
                     {"Liar", address(host_ip(i) + ":9003"), UpstreamMode::kMirror},
                     {"LiarPool", address(host_ip(i) + ":9004"), UpstreamMode::kShared,
                      static_cast<uint32_t>(random_.between(1, 4))}};
    }
    Path link;  // between hosts
    link.latency_min = std::chrono::microseconds(20);
    link.latency_max = std::chrono::microseconds(random_.between(60, 2000));
    if (scenario_ == Scenario::kCrowd) link.latency_min = link.latency_max;
    network_.set_path(*node.link.listen, link);
    daemons_.push_back(
        std::make_unique<SimDaemon>(network_, node, manifest, faults, random_.next()));
  }
  // The order of the starts is random. A daemon that starts before its peers cannot connect to them
  // at first.
  std::vector<size_t> order = {0, 1, 2};
  random_.shuffle(order);
  for (const size_t i : order) daemons_[i]->start();
}

void World::build_servers() {
  for (size_t host = 1; host <= 2; ++host) {
    for (size_t i = 0; i < std::size(kServerPorts); ++i) {
      const bool mirrored = i % 2 == 0;
      const Address where = address(host_ip(host) + kServerPorts[i]);
      Path path;
      if (scenario_ != Scenario::kCrowd) path.window_bytes = random_.log_between(2000, 200'000);
      network_.set_path(where, path);
      servers_.push_back(
          std::make_unique<SimServer>(network_, book_, where, mirrored, random_.next()));
      if (scenario_ == Scenario::kHostile) servers_.back()->expect_hostile_clients();
      if (i >= 2) servers_.back()->lie();
      servers_.back()->start();
    }
  }
}

void World::build_clients() {
  calls_out_min_ = daemons_[0]->node().limits.calls_per_connection_max;
  // True if requests may be too large and calls may exceed their time-outs. False in a run without
  // faults and in a run whose only faults are drains.
  const bool calls_fail = !nothing_fails() && scenario_ != Scenario::kDrains;
  for (const char* port : kEndpointPorts) {
    Path path;
    path.window_bytes = random_.log_between(2000, 200'000);
    network_.set_path(address(host_ip(0) + port), path);
  }
  const size_t count = random_.between(2, 6);
  for (size_t i = 0; i < count; ++i) {
    const bool mirrored = random_.percent(60);
    ClientPlan plan{.endpoint = address(host_ip(0) + (mirrored ? ":9090" : ":9091")),
                    .service = mirrored ? "Mirror" : "Pool",
                    .mirrored = mirrored};
    // Honest clients of a service in shared mode all use the dialect of its server, because their
    // calls share upstream connections.
    plan.dialect = kDialects[mirrored ? random_.below(std::size(kDialects)) : 0];
    const bool many = scenario_ == Scenario::kLearning || (!nothing_fails() && random_.percent(30));
    const uint64_t more = many ? 10 : 1;  // so that there are trials
    plan.calls = random_.between(5, 40) * more;
    plan.calls_per_connection = random_.between(1, 30) * more;
    plan.depth = random_.percent(50) ? 1 : random_.between(2, 12);
    plan.request_bytes_max = random_.percent(15) ? (calls_fail ? 200'000 : 100'000) : 3000;
    plan.reply_bytes_max = random_.percent(15) ? 400'000 : 3000;
    plan.oneway_percent = random_.percent(50) ? 0 : 20;
    plan.calls_out_max = calls_out_min_;
    // A drain would wait in vain for replies to oneway calls that have the type of ordinary calls.
    if (scenario_ == Scenario::kDrains || random_.percent(50)) plan.possible_percent = 0;
    plan.slow_percent = random_.percent(20) ? 20 : 0;
    plan.half_closes = random_.percent(30);
    plan.leaves_percent = random_.percent(20) ? 5 : 0;
    plan.timed_percent = calls_fail ? 30 : 0;
    if (scenario_ == Scenario::kServers || scenario_ == Scenario::kEverything) {
      plan.bad_server_percent = 8;
    }
    if (canary_ == Canary::kSwappedReplies) plan.depth = 8;
    if (only_lanes_fail_ && mirrored && random_.percent(70)) stay_on_one_lane(plan);
    clients_.push_back(std::make_unique<SimClient>(network_, book_, plan,
                                                   "app-" + std::to_string(i), random_.next()));
    if (scenario_ == Scenario::kDrains) clients_.back()->expect_orderly_ends();
    clients_.back()->start();
  }
}

// Makes a client's calls use one RDMA lane as long as the lane exists, one call after another. So
// if the lane is lost with the request of a call, nothing keeps the stream from resuming.
void World::stay_on_one_lane(ClientPlan& plan) {
  plan.is_even = plan.stays_on_lane = true;
  plan.dialect = kDialects[0];  // in framed binary, all requests of one length have one size
  plan.depth = 1;
  plan.request_bytes_min = plan.request_bytes_max = random_.between(0, 3000);
  plan.oneway_percent = plan.possible_percent = plan.timed_percent = 0;
  plan.slow_percent = plan.leaves_percent = 0;
}

// Builds clients that make the same calls, so that each should get the same share of the link.
void World::build_crowd() {
  ClientPlan plan{.endpoint = address(host_ip(0) + ":9090"), .service = "Mirror", .mirrored = true};
  plan.is_even = true;
  plan.calls = plan.calls_per_connection = 20;
  plan.calls_out_max = daemons_[0]->node().limits.calls_per_connection_max;
  plan.depth = std::min<size_t>(4, plan.calls_out_max);
  const bool large_requests = random_.percent(50);
  plan.request_bytes_min = plan.request_bytes_max = large_requests ? 50'000 : 100;
  plan.reply_bytes_min = plan.reply_bytes_max = large_requests ? 100 : 50'000;
  plan.oneway_percent = plan.possible_percent = plan.timed_percent = 0;
  const size_t count = random_.between(12, 24);
  for (size_t i = 0; i < count; ++i) {
    plan.slow_percent = canary_ == Canary::kStarvedClient && i == 0 ? 100 : 0;
    clients_.push_back(std::make_unique<SimClient>(network_, book_, plan,
                                                   "app-" + std::to_string(i), random_.next()));
    clients_.back()->start();
  }
}

void World::build_hostile() {
  const TimePoint until = network_.now() + kFaultsEnd;
  const auto add = [&](Hostile::Plays plays, const std::string& target,
                       const std::string& service) {
    hostile_.push_back(std::make_unique<Hostile>(network_, plays, address(target), service,
                                                 "hostile-" + std::to_string(hostile_.size()),
                                                 random_.next()));
    hostile_.back()->start(until);
  };
  for (uint64_t count = random_.between(1, 5); count != 0; --count) {
    const bool mirrored = random_.percent(50);
    add(Hostile::Plays::kClient, host_ip(0) + (mirrored ? ":9090" : ":9091"),
        mirrored ? "Mirror" : "Pool");
  }
  for (uint64_t count = random_.between(1, 3); count != 0; --count) {
    const bool first = random_.percent(50);
    add(Hostile::Plays::kPeer, host_ip(first ? 1 : 2) + ":9465", first ? "host-b" : "host-c");
  }
  for (uint64_t count = random_.between(1, 3); count != 0; --count) {
    const bool mirrored = random_.percent(50);
    ClientPlan plan{.endpoint = address(host_ip(0) + (mirrored ? ":9092" : ":9093")),
                    .service = mirrored ? "Liar" : "LiarPool",
                    .mirrored = mirrored,
                    .dialect = kDialects[mirrored ? random_.below(std::size(kDialects)) : 0],
                    .calls = random_.between(5, 40),
                    .depth = random_.percent(50) ? 1 : random_.between(2, 12),
                    .oneway_percent = 0,
                    .possible_percent = 0,
                    .timed_percent = 100,
                    .of_liar = true};
    clients_.push_back(std::make_unique<SimClient>(
        network_, book_, plan, "app-of-liar-" + std::to_string(clients_.size()), random_.next()));
    clients_.back()->start();
  }
}

bool World::clients_done() const {
  return std::ranges::all_of(clients_, [](const auto& client) { return client->done(); });
}

void World::check_buffers() {
  for (const auto& daemon : daemons_) {
    if (!daemon->running()) continue;
    const auto held = static_cast<int64_t>(daemon->counters().buffered_bytes.value());
    // A daemon may buffer, for each stream, one window in each direction and 64 KiB of its own
    // answers.
    constexpr int64_t kPerStream = 2 * engine::kStreamWindowBytes + 64 * 1024;
    constexpr int64_t kStreamsMax = 128;
    if (held < 0 || held > kPerStream * kStreamsMax) {
      book_.broken("bounds: " + daemon->node().node + " says that it buffers " +
                   std::to_string(held) + " bytes");
    }
  }
}

// Checks, when the first client of a crowd has done its calls, that each client has done a third of
// its calls. Less than half can be chance, because clients send at random times.
void World::check_shares() {
  if (scenario_ != Scenario::kCrowd || shares_checked_) return;
  if (std::ranges::none_of(clients_, [](const auto& client) { return client->done(); })) return;
  shares_checked_ = true;
  size_t least = clients_.front()->calls_ended();
  size_t most = least;
  for (const auto& client : clients_) {
    least = std::min(least, client->calls_ended());
    most = std::max(most, client->calls_ended());
  }
  if (least * 3 < most) {
    book_.broken("fairness: one client has made " + std::to_string(most) +
                 " calls, and another one " + std::to_string(least));
  }
}

Verdict World::run() {
  plant_canary();
  plan_faults();
  const auto stop = [this] {
    check_buffers();
    check_shares();
    return stopped();
  };
  const auto finished = [this, stop] { return stop() || (calm_ && clients_done()); };
  network_.after(kFaultsEnd, [this] { calm_down(); });
  network_.run_until(network_.now() + kFaultsEnd, stop);
  if (!network_.run_until(network_.now() + kAllAnswered, finished)) {
    for (const auto& client : clients_) {
      if (!client->done()) book_.broken("swallowed: " + client->what_it_waits_for());
    }
  }
  if (!stopped()) network_.run_until(network_.now() + kRest, stop);
  if (!stopped() && scenario_ == Scenario::kHostile) {
    for (const auto& server : servers_) server->close_where_requests_are_cut();
    // Run until no daemon waits any more: a daemon can wait up to kServerEndWait for the answers of
    // calls that may be oneway.
    network_.run_until(network_.now() + kRest + ClientConnection::kServerEndWait, stop);
  }
  if (!stopped()) check_oneways();
  if (!stopped()) check_at_rest();
  if (!stopped()) check_drains();
  return {book_.first_broken(),
          book_.calls().size(),
          book_.replies(),
          book_.exceptions(),
          daemons_.front()->calls_by_rdma(),
          daemons_.front()->trials(),
          daemons_.front()->retries(),
          daemons_.front()->resumes(),
          network_.events_run(),
          network_.fingerprint()};
}

void World::check_oneways() {
  if (!nothing_fails()) return;
  for (const SimCall& call : book_.calls()) {
    if (call.must_arrive && call.seen == 0) {
      book_.broken("swallowed: no server saw " + describe(call));
    }
  }
}

void World::check_at_rest() {
  for (const auto& daemon : daemons_) {
    const std::string text = daemon->not_at_rest();
    if (!text.empty()) book_.broken("leak: " + text);
  }
  for (const char* port : kEndpointPorts) {
    const Address endpoint = address(host_ip(0) + port);
    if (const size_t open = network_.connections_open(endpoint); open != 0) {
      book_.broken("leak: " + std::to_string(open) + " connections to " + to_string(endpoint));
    }
  }
  size_t pooled = 0;  // connections to servers of shared services, which a reload can move
  uint64_t counted = 0;
  for (size_t host = 1; host <= 2; ++host) {
    uint32_t limit = 0;
    for (size_t i = 0; i < std::size(kServerPorts); ++i) {
      const Address server = address(host_ip(host) + kServerPorts[i]);
      const size_t here = network_.connections_open(server);
      const ServedConfig& served = daemons_[host]->node().serves[i];
      if (served.mode == UpstreamMode::kShared) {
        pooled += here;
        limit += served.connections_max;
      } else if (here != 0) {
        book_.broken("leak: " + std::to_string(here) + " connections to " + to_string(server) +
                     " outlived their clients");
      }
    }
    const uint64_t open = daemons_[host]->counters().upstream.open.value();
    counted += open;
    if (open > limit) {
      book_.broken("leak: " + daemons_[host]->node().node + " counts " + std::to_string(open) +
                   " upstream connections, and its pool has " + std::to_string(limit));
    }
  }
  if (counted != pooled) {
    book_.broken("leak: the daemons count " + std::to_string(counted) +
                 " upstream connections, and there are " + std::to_string(pooled));
  }
}

// Checks in the scenario kDrains that no drain cut off calls in flight. Then drains all daemons:
// each one must exit within a second, because no call is in flight.
void World::check_drains() {
  for (const auto& daemon : daemons_) {
    if (scenario_ == Scenario::kDrains && daemon->late_drains() != 0) {
      book_.broken("drain: " + daemon->node().node + " cut what was in flight");
    }
    daemon->drain();
  }
  network_.run_until(network_.now() + seconds(1), [] { return false; });
  for (const auto& daemon : daemons_) {
    if (daemon->running()) book_.broken("drain: " + daemon->node().node + " does not leave");
  }
}

}  // namespace hat::sim
