// SPDX-License-Identifier: Apache-2.0
// bench/daemons/model_load.cc: the program model_load: calls of Thrift clients through two hatrpcds
// on modelled hosts, in virtual time. The daemons' own code runs: workers, rings' polling, plans,
// lanes and legs. Prints one line of JSON.
//
//   client hosts                                   server host
//   clients ── hatrpcd ══ card, or TCP ══ card ══ hatrpcd ── server
#include <glog/logging.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/arguments.h"
#include "base/rounded.h"
#include "bench/account_json.h"
#include "bench/daemons/applications.h"
#include "bench/daemons/model_daemon.h"
#include "config/yaml.h"

namespace hat::bench {
namespace {

using model::Time;
using model::Wire;

constexpr const char* kHelp =
    R"(model_load: computes calls through two hatrpcds on modelled hosts; prints one line of JSON

usage: model_load [options]

  --hardware NAME        the hosts and cards (bench/model/hardware.cc); default skylake-connectx5
  --direct               the clients call the server without hatrpcd
  --one-host             all processes are on one host
  --client-hosts N       hosts among which the clients are divided; default 1
  --local socket|ring    between an application and the hatrpcd of its host, or, with --direct
                         --one-host, between client and server; default ring
  --link rdma|tcp        between the daemons; default rdma
  --workers N            of each hatrpcd; default: a quarter of the cores, 1 to 8
  --hint HINTS           of the service, such as "perf_goal: throughput, concurrency: 64"
  --manifest FILE        the daemons' manifest; default: one with the service and --hint
  --workload NAME        what the clients call: echo (the service Echo), atb (the functions latency
                         and throughput of the service Atb), ycsb-a or ycsb-b (HatKV); default echo
  --latency-percent N    of atb: calls of the function latency among 100; default 50
  --clients N            how many call at once; default 1
  --bytes N              of echo and atb: payload of a request and a reply; default 64
  --seconds S            of virtual time, after a fifth of it as warm-up; default 0.1, at most 5
                         (the model does not end lanes, as an idle daemon does)

examples:
  model_load --clients 64 --bytes 512 --hint "perf_goal: throughput, concurrency: 64"
  model_load --direct --clients 16
  hintgen kv/hatkv.thrift -o hatkv.yaml; model_load --workload ycsb-a --manifest hatkv.yaml
)";

struct Settings {
  model::Hardware hardware = *model::find_hardware("skylake-connectx5");
  bool direct = false;
  bool one_host = false;
  uint32_t client_hosts = 1;
  Wire local = Wire::kRing;
  bool rdma = true;
  uint32_t workers = 0;
  std::string hint;
  std::string manifest;  // a file; empty: none
  std::string workload = "echo";
  WorkloadSizes sizes;
  uint32_t clients = 1;
  double seconds = 0.1;
};

Address at_port(uint16_t port) { return *parse_address("tcp:127.0.0.1:" + std::to_string(port)); }
const Address kEndpoint = at_port(1);
const Address kLink = at_port(2);
const Address kServer = at_port(3);

// Returns the text of a manifest with one service, and the hints of the option --hint.
std::string manifest_text(const Workload& workload, const std::string& hint) {
  std::string functions;
  for (const ModelFunction& function : workload.functions) functions += function.name + ": {}, ";
  return "hatrpc_manifest: 1\nservices:\n  " + workload.service + ":\n    hint: {" + hint +
         "}\n    functions: {" + functions + "}\n";
}

Manifest manifest_of(const Settings& settings, const Workload& workload) {
  const bool has_file = !settings.manifest.empty();
  Diagnostics diagnostics;
  const std::optional<std::string> text =
      has_file ? read_file(settings.manifest, diagnostics) : manifest_text(workload, settings.hint);
  Manifest manifest;
  if (text) manifest = read_manifest(*text, has_file ? settings.manifest : "--hint", diagnostics);
  std::fputs(diagnostics.text().c_str(), stderr);
  if (diagnostics.any_errors()) std::exit(2);
  const auto has = [&](const ServiceSpec& service) { return service.name == workload.service; };
  if (std::ranges::any_of(manifest.services, has)) return manifest;
  std::fprintf(stderr, "model_load: %s has no service %s, which the clients call\n",
               settings.manifest.c_str(), workload.service.c_str());
  std::exit(2);
}

// All hosts, and what runs on them.
class Hosts {
 public:
  Hosts(const Settings& settings, const Window& window)
      : settings_(settings),
        workload_(make_workload(settings.workload, settings.sizes, settings.hardware)),
        calls_(workload_.functions.size()) {
    const size_t count = settings.one_host ? 0 : std::min(settings.client_hosts, settings.clients);
    for (size_t i = 0; i <= count; ++i) {
      hosts_.push_back(std::make_unique<model::Host>(schedule, settings_.hardware));
    }
    const Wire between = settings.one_host ? Wire::kSocket : Wire::kTcp;
    model::Host& there = *hosts_[0];
    const bool tcp = settings.direct && !settings.one_host;
    server_ = std::make_unique<Server>(there.machine, there.card, network_, kServer,
                                       tcp ? between : settings.local, workload_);
    if (!settings.direct) start_daemons(between);
    for (size_t i = 0; i < settings.clients; ++i) {
      const size_t number = count == 0 ? 0 : 1 + i % count;
      model::Host& host = *hosts_[number];
      const Address& address = settings.direct ? kServer : endpoint_of(number);
      clients_.push_back(std::make_unique<LoadClient>(host.machine, host.card, network_, address,
                                                      workload_, static_cast<uint32_t>(i + 1),
                                                      window, calls_));
    }
  }
  // Starts the clients. Call this when the daemons have their links.
  void start_clients() {
    for (const auto& client : clients_) client->machine().start(*client);
  }

  Account account() const {
    Account all;
    for (const auto& client : clients_) all.add(client->account());
    return all;
  }
  bool all_answered() const {
    return std::ranges::none_of(clients_, [](const auto& client) { return client->waits(); });
  }
  // The processor times of the clients, the daemons and the server.
  std::array<Time, 3> busy() const {
    std::array<Time, 3> sum{};
    for (const auto& client : clients_) sum[0] += client->busy();
    for (const auto& daemon : daemons_) sum[1] += daemon->busy();
    sum[2] = server_->busy();
    return sum;
  }
  // Returns an object for each way that carried calls.
  nlohmann::ordered_json ways() {
    std::map<std::pair<std::string, std::string>, uint64_t> sum;
    for (const auto& daemon : daemons_) {
      for (const auto& [way, calls] : daemon->ways()) sum[way] += calls;
    }
    auto found = nlohmann::ordered_json::array();
    for (const auto& [way, calls] : sum) {
      found.push_back({{"request", way.first}, {"reply", way.second}, {"calls", calls}});
    }
    return found;
  }
  // Returns an object for each function, by its name.
  nlohmann::ordered_json functions(double seconds);
  std::vector<double> all_latencies() const;

  model::Schedule schedule;

 private:
  static Address endpoint_of(size_t host) { return at_port(static_cast<uint16_t>(100 + host)); }

  void start_daemons(Wire between) {
    const uint32_t workers = settings_.workers != 0
                                 ? settings_.workers
                                 : std::clamp(settings_.hardware.cores / 4, 1u, 8u);
    ModelDaemon::Setup setup{.node = {},
                             .manifest = manifest_of(settings_, workload_),
                             .workers = workers,
                             .rdma = settings_.rdma,
                             .local = settings_.local,
                             .link = between};
    setup.node.node = "server";
    setup.node.link.listen = kLink;
    setup.node.serves = {{workload_.service, kServer, UpstreamMode::kMirror}};
    start(*hosts_[0], setup);
    setup.node.link.listen.reset();
    setup.node.serves.clear();
    setup.node.peers = {{"server", kLink, {}}};
    for (size_t host = settings_.one_host ? 0 : 1; host < hosts_.size(); ++host) {
      setup.node.node = "client-" + std::to_string(host);
      setup.node.endpoints = {{endpoint_of(host), workload_.service, {"server"}}};
      start(*hosts_[host], setup);
    }
  }
  void start(model::Host& host, const ModelDaemon::Setup& setup) {
    daemons_.push_back(std::make_unique<ModelDaemon>(host, network_, pairs_, setup));
  }

  const Settings& settings_;
  const Workload workload_;
  std::vector<FunctionCalls> calls_;  // by function of the workload
  model::Network network_;
  model::QueuePairs pairs_;
  std::vector<std::unique_ptr<model::Host>> hosts_;  // the first one is the server's
  std::unique_ptr<Server> server_;
  std::vector<std::unique_ptr<LoadClient>> clients_;
  // Destroyed first, because a daemon closes its connections, which wakes the threads at their
  // other ends.
  std::vector<std::unique_ptr<ModelDaemon>> daemons_;
};

std::vector<double> Hosts::all_latencies() const {
  std::vector<double> all;
  for (const FunctionCalls& one : calls_) {
    all.insert(all.end(), one.latencies.begin(), one.latencies.end());
  }
  std::ranges::sort(all);
  return all;
}

nlohmann::ordered_json Hosts::functions(double seconds) {
  nlohmann::ordered_json found;
  for (size_t i = 0; i < calls_.size(); ++i) {
    std::vector<double>& latencies = calls_[i].latencies;
    std::ranges::sort(latencies);
    const double sum = std::accumulate(latencies.begin(), latencies.end(), 0.0);
    const double count = std::max(1.0, double(latencies.size()));
    found[workload_.functions[i].name] = {
        {"calls", calls_[i].ended},
        {"calls_per_second", rounded(double(calls_[i].ended) / seconds, 0)},
        {"average_us", rounded(sum / count, 3)},
        {"p50_us", rounded(percentile(latencies, 0.5), 3)},
        {"p95_us", rounded(percentile(latencies, 0.95), 3)},
        {"p99_us", rounded(percentile(latencies, 0.99), 3)}};
  }
  return found;
}

double micros(Time time) { return std::chrono::duration<double, std::micro>(time).count(); }

void run(const Settings& settings) {
  constexpr Time kLinksUp = std::chrono::milliseconds(50);
  const Time span(static_cast<int64_t>(settings.seconds * 1e9));
  const auto point = [](Time time) { return Account::Clock::time_point(time); };
  const Time begin = kLinksUp + span / 5;
  const Window window{.begin = point(begin), .end = point(begin + span)};
  Hosts hosts(settings, window);
  hosts.schedule.run_until(kLinksUp);
  hosts.start_clients();
  hosts.schedule.run_until(begin);
  const auto before = hosts.busy();
  hosts.schedule.run_until(begin + span);
  const auto after = hosts.busy();
  for (int i = 0; i < 1000 && !hosts.all_answered(); ++i) {
    hosts.schedule.run_until(hosts.schedule.now() + span / 10);
  }
  const Account account = hosts.account();
  if (!hosts.all_answered() || account.ended == 0) {
    std::fputs("model_load: a modelled call had no answer\n", stderr);
    std::exit(1);
  }
  const std::vector<double> latencies = hosts.all_latencies();
  const auto cpu_us = [&](size_t of) {
    return rounded(micros(after[of] - before[of]) / double(account.ended), 3);
  };
  nlohmann::ordered_json result = {
      {"hardware", settings.hardware.name},
      {"clients", settings.clients},
      {"workload", settings.workload},
      {"calls", account.ended},
      {"calls_per_second", rounded(double(account.ended) / settings.seconds, 0)},
      {"p50_us", rounded(percentile(latencies, 0.5), 3)},
      {"p99_us", rounded(percentile(latencies, 0.99), 3)},
      {"client_cpu_us", cpu_us(0)},
      {"sidecar_cpu_us", cpu_us(1)},
      {"server_cpu_us", cpu_us(2)},
      {"functions", hosts.functions(settings.seconds)},
      {"ways", hosts.ways()}};
  result.update(account_json(account));
  std::puts(result.dump().c_str());
}

// Returns why an option that was given has no effect; empty if it has one.
std::string_view why_ignored(const std::string& name, const Settings& settings) {
  const bool is_of_hosts = name == "--local" && settings.one_host;
  const bool is_of_daemons = name == "--local" || name == "--link" || name == "--workers" ||
                             name == "--hint" || name == "--manifest";
  if (settings.one_host && name == "--client-hosts") return "does not go with --one-host";
  if (settings.direct && is_of_daemons && !is_of_hosts) {
    return "needs hatrpcd, and --direct has none";
  }
  if (name == "--hint" && !settings.manifest.empty()) return "does not go with --manifest";
  if (name == "--latency-percent" && settings.workload != "atb") return "needs --workload atb";
  if (name == "--bytes" && settings.workload.starts_with("ycsb")) {
    return "does not go with a workload of YCSB";
  }
  return {};
}

Result<Action> parse(const std::vector<std::string>& arguments, Settings& settings) {
  Arguments parser("model_load");
  std::vector<std::string> given;
  const auto option = [&](const std::string& name, Arguments::Read read) {
    parser.option(name, [&given, name, read = std::move(read)](const std::string& value) {
      given.push_back(name);
      return read(value);
    });
  };
  const std::vector<std::string> workloads = workload_names();
  option("--hardware", read_one_of(model::hardware_names(), [&](size_t index) {
           settings.hardware = *model::find_hardware(model::hardware_names()[index]);
         }));
  parser.flag("--direct", settings.direct);
  parser.flag("--one-host", settings.one_host);
  option("--client-hosts", read_number(settings.client_hosts, 1u, 1000u));
  option("--local", read_one_of({"socket", "ring"}, [&](size_t index) {
           settings.local = index == 0 ? Wire::kSocket : Wire::kRing;
         }));
  option("--link", read_one_of({"rdma", "tcp"}, [&](size_t index) { settings.rdma = index == 0; }));
  option("--workers", read_number(settings.workers, 1u, kWorkersMax));
  option("--hint", read_text(settings.hint));
  option("--manifest", read_text(settings.manifest));
  option("--workload",
         read_one_of(workloads, [&](size_t index) { settings.workload = workloads[index]; }));
  option("--latency-percent", read_number(settings.sizes.latency_percent, 0u, 100u));
  option("--clients", read_number(settings.clients, 1u, 100'000u));
  option("--bytes", read_number(settings.sizes.bytes, size_t{0}, size_t{1} << 20));
  option("--seconds", read_number(settings.seconds, 0.001, 5.0, "seconds"));
  HAT_TRY(const Action action, parser.parse(arguments));
  for (const std::string& name : given) {
    const std::string_view why = why_ignored(name, settings);
    if (!why.empty()) return fail(ErrorCode::kInvalid, name + " " + std::string(why));
  }
  return action;
}

}  // namespace
}  // namespace hat::bench

int main(int argc, char** argv) {
  using namespace hat::bench;
  FLAGS_logtostderr = true;
  FLAGS_minloglevel = google::GLOG_ERROR;
  google::InitGoogleLogging(argv[0]);
  Settings settings;
  const auto action = parse({argv + 1, argv + argc}, settings);
  if (!action) {
    std::fprintf(stderr, "model_load: %s (see model_load --help)\n",
                 action.error().message.c_str());
    return 2;
  }
  if (*action == hat::Action::kShowHelp) return std::fputs(kHelp, stdout) < 0;
  if (*action == hat::Action::kShowVersion) return std::puts("model_load " HAT_VERSION) < 0;
  run(settings);
  return 0;
}
