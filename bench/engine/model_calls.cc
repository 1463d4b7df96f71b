// SPDX-License-Identifier: Apache-2.0
// bench/engine/model_calls.cc: calls over RDMA lanes between modelled hosts: the engine's own code,
// in virtual time.
//
//   client hosts                                     server host
//   a thread for each client, with a lane ══ card ══ card ══ a thread for each client
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rounded.h"
#include "bench/account.h"
#include "bench/account_json.h"
#include "bench/engine/lane_options.h"
#include "bench/engine/measure.h"
#include "bench/engine/two.h"
#include "bench/model/model_fabric.h"
#include "engine/memory/arena.h"
#include "engine/rdma/lane_memory.h"
#include "engine/rdma/poller.h"

namespace hat::bench {
namespace {

using namespace engine;
using model::Card;
using model::Hardware;
using model::Machine;
using model::QueuePairs;
using model::Schedule;
using model::Then;
using model::Time;

// Returns a time of the model in the type that an Account counts with.
Account::Clock::time_point point(Time time) { return Account::Clock::time_point(time); }

// One thread with one lane.
class LaneThread : public model::Thread, public LaneEvents {
 public:
  LaneThread(Machine& machine, Card& card, QueuePairs& pairs, const Settings& settings, bool server)
      : Thread(machine), settings_(settings), fabric_(*this, card, pairs) {
    const RdmaLaneOptions options = lane_options(settings, server);
    sums_out_ = sums(options.out);
    sums_in_ = sums(options.in);
    const LanePlan plan{options, 1};
    arena_ = must(Arena::create(fabric_, arena_for({&plan, 1}, settings.bytes).arena));
    poller_ = must(Poller::create(fabric_, *arena_, {.completions = 256}));
    lane_ = must(RdmaLane::create(*poller_, options, *this));
  }
  void connect(LaneThread& other) { must(lane_->connect(other.lane_->offer())); }
  void take_fabric_events() {
    while (const auto event = fabric_.next_event()) poller_->on_event(*event);
  }

 protected:
  // Charges the work for a message to send, and sends it in the next step, when this work is done.
  void send(FrameKind kind, uint64_t call, Bytes payload) {
    charge(work(payload.size(), sums_out_));
    ready_.push_back({.kind = kind, .call = call, .payload = {payload.begin(), payload.end()}});
  }
  // Returns the time of the work for a message that has arrived.
  Time work_for(Bytes payload) { return work(payload.size(), sums_in_); }
  const Hardware& hardware() { return machine().hardware(); }

 private:
  struct Message {
    FrameKind kind;
    uint64_t call;
    std::vector<std::byte> payload;
  };

  // Returns true if messages of this shape carry checksums of the payload.
  bool sums(const LaneShape& shape) const {
    return row(settings_.bytes <= shape.slot_bytes ? shape.leg : shape.beyond).sums;
  }
  Time work(size_t bytes, bool sums) {
    const double size = static_cast<double>(bytes);
    const double moved = size / hardware().copied_per_ns;
    const double summed = sums ? size / hardware().summed_per_ns : 0;
    return hardware().frame + Time(static_cast<int64_t>(moved + summed));
  }
  Then step() override {
    for (const Message& message : std::exchange(ready_, {})) {
      lane_->send({.kind = message.kind,
                   .flags = kLastPiece,
                   .replies = static_cast<uint16_t>(message.kind == FrameKind::kCall),
                   .stream = 1,
                   .call = message.call},
                  {message.payload});
    }
    begin();
    const size_t found = poller_->poll();
    lane_->flush();
    if (found != 0 || !ready_.empty()) return Then::kMore;
    if (settings_.polling == Polling::kBusy) return Then::kSpin;
    if (!poller_->prepare_to_sleep()) return Then::kMore;
    lane_->flush();
    charge(hardware().sleep_call);
    return Then::kSleep;
  }
  virtual void begin() {}
  void on_down(const std::string& reason) override {
    std::fprintf(stderr, "engine_bench: a modelled lane went down: %s\n", reason.c_str());
    std::exit(1);
  }

  const Settings& settings_;
  model::ModelFabric fabric_;
  std::unique_ptr<Arena> arena_;
  std::unique_ptr<Poller> poller_;
  std::unique_ptr<RdmaLane> lane_;
  bool sums_out_ = false;
  bool sums_in_ = false;
  std::vector<Message> ready_;
};

class ServerThread final : public LaneThread {
 public:
  using LaneThread::LaneThread;

 private:
  void on_frame(const FrameHeader& header, Bytes payload) override {
    charge(work_for(payload));
    send(FrameKind::kReply, header.call, payload);
  }
};

class ClientThread final : public LaneThread {
 public:
  ClientThread(Machine& machine, Card& card, QueuePairs& pairs, const Settings& settings,
               const Window& window, std::vector<double>& latencies)
      : LaneThread(machine, card, pairs, settings, false),
        payload_(settings.bytes, std::byte{7}),
        window_(window),
        latencies_(latencies) {}

  Account account() const {
    Account closed = account_;
    closed.close();
    return closed;
  }
  bool waits() const { return call_ != answered_; }

 private:
  void begin() override {
    if (call_ == 0) call();
  }
  void call() {
    begun_ = now();
    send(FrameKind::kCall, ++call_, payload_);
  }
  void on_frame(const FrameHeader& header, Bytes payload) override {
    charge(work_for(payload));
    if (header.call != call_ || !std::ranges::equal(payload, payload_)) {
      std::fprintf(stderr, "engine_bench: a modelled call got a wrong answer\n");
      std::exit(1);
    }
    const auto time = account_.add_call(window_, point(ended_), point(begun_), point(now()));
    if (time) latencies_.push_back(std::chrono::duration<double, std::micro>(*time).count());
    ended_ = now();
    answered_ = call_;
    if (window_.holds(point(ended_)) || point(ended_) < window_.begin) call();
  }

  const std::vector<std::byte> payload_;
  const Window& window_;
  std::vector<double>& latencies_;
  Account account_;
  uint64_t call_ = 0;
  uint64_t answered_ = 0;
  Time begun_{};
  Time ended_{};
};

// All hosts, with a pair of threads for each client.
class Hosts {
 public:
  Hosts(const Settings& settings, const Window& window)
      : server_(schedule, settings.hardware, settings.hardware.cores),
        cards_(std::min(settings.client_hosts, settings.clients)) {
    for (size_t i = 0; i < cards_.size(); ++i) {
      hosts_.push_back(
          std::make_unique<Machine>(schedule, settings.hardware, settings.hardware.cores));
    }
    for (size_t i = 0; i < settings.clients; ++i) {
      const size_t host = i % hosts_.size();
      auto& served = servers_.emplace_back(
          std::make_unique<ServerThread>(server_, server_card_, pairs_, settings, true));
      auto& client = clients_.emplace_back(std::make_unique<ClientThread>(
          *hosts_[host], cards_[host], pairs_, settings, window, latencies));
      client->connect(*served);
      served->connect(*client);
      client->take_fabric_events();
      served->take_fabric_events();
    }
    for (size_t i = 0; i < settings.clients; ++i) {
      server_.start(*servers_[i]);
      clients_[i]->machine().start(*clients_[i]);
    }
  }

  Account account() const {
    Account all;
    for (const auto& client : clients_) all.add(client->account());
    return all;
  }
  bool all_answered() const {
    return std::ranges::none_of(clients_, [](const auto& client) { return client->waits(); });
  }
  Time client_cpu() const { return cpu(clients_); }
  Time server_cpu() const { return cpu(servers_); }

  Schedule schedule;
  std::vector<double> latencies;  // microseconds

 private:
  template <class Threads>
  static Time cpu(const Threads& threads) {
    Time sum{};
    for (const auto& thread : threads) sum += thread->busy();
    return sum;
  }

  QueuePairs pairs_;
  Machine server_;
  Card server_card_;
  std::vector<std::unique_ptr<Machine>> hosts_;
  std::vector<Card> cards_;
  std::vector<std::unique_ptr<ServerThread>> servers_;
  std::vector<std::unique_ptr<ClientThread>> clients_;
};

double micros(Time time) { return std::chrono::duration<double, std::micro>(time).count(); }

}  // namespace

void model_calls(const Settings& settings) {
  const Time span(static_cast<int64_t>(settings.seconds * 1e9));
  const Time begin = span / 5;
  const Window window{.begin = point(begin), .end = point(begin + span)};
  Hosts hosts(settings, window);
  hosts.schedule.run_until(begin);
  const Time client_cpu = hosts.client_cpu();
  const Time server_cpu = hosts.server_cpu();
  hosts.schedule.run_until(begin + span);
  const double clients_us = micros(hosts.client_cpu() - client_cpu);
  const double servers_us = micros(hosts.server_cpu() - server_cpu);
  // Lets the calls in flight end, also those of threads that wait for many others on their core.
  for (int i = 0; i < 1000 && !hosts.all_answered(); ++i) {
    hosts.schedule.run_until(hosts.schedule.now() + span / 10);
  }
  if (!hosts.all_answered()) {
    std::fprintf(stderr, "engine_bench: a modelled call had no answer\n");
    std::exit(1);
  }
  const Account account = hosts.account();
  std::ranges::sort(hosts.latencies);
  const double n = std::max<double>(1, double(account.ended));
  nlohmann::ordered_json result = {
      {"measurement", "calls"},
      {"fabric", "model"},
      {"hardware", settings.hardware.name},
      {"protocol", settings.protocol->name},
      {"bytes", settings.bytes},
      {"clients", settings.clients},
      {"client_hosts", settings.client_hosts},
      {"polling", settings.polling == Polling::kBusy ? "busy" : "event"},
      {"calls", account.ended},
      {"calls_per_second", rounded(double(account.ended) / settings.seconds, 0)},
      {"p50_us", rounded(percentile(hosts.latencies, 0.5), 3)},
      {"p99_us", rounded(percentile(hosts.latencies, 0.99), 3)},
      {"client_cpu_us_per_call", rounded(clients_us / n, 3)},
      {"server_cpu_us_per_call", rounded(servers_us / n, 3)}};
  if (!settings.times.empty()) result["times"] = settings.times;
  result.update(account_json(account));
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
