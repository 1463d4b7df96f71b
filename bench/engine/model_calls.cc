// SPDX-License-Identifier: Apache-2.0
// bench/engine/model_calls.cc: calls over RDMA lanes between modelled hosts.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "base/rounded.h"
#include "bench/account_json.h"
#include "bench/engine/model_lanes.h"

namespace hat::bench {
namespace {

using namespace engine;
using model::Time;

class ServerThread final : public LaneThread {
 public:
  using LaneThread::LaneThread;

 private:
  void on_frame(const FrameHeader& header, Bytes payload) override {
    charge_arrival(payload);
    send({.kind = FrameKind::kReply, .flags = kLastPiece, .stream = 1, .call = header.call},
         payload);
  }
};

class ClientThread final : public LaneThread {
 public:
  ClientThread(model::Host& host, model::QueuePairs& pairs, const Settings& settings, bool server,
               const Window& window, std::vector<double>& latencies)
      : LaneThread(host, pairs, settings, server),
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
    send(
        {.kind = FrameKind::kCall, .flags = kLastPiece, .replies = 1, .stream = 1, .call = ++call_},
        payload_);
  }
  void on_frame(const FrameHeader& header, Bytes payload) override {
    charge_arrival(payload);
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

}  // namespace

void model_calls(const Settings& settings) {
  const Time span(static_cast<int64_t>(settings.seconds * 1e9));
  const Time begin = span / 5;
  const Window window{.begin = point(begin), .end = point(begin + span)};
  std::vector<double> latencies;  // microseconds
  LaneHosts hosts(settings);
  std::vector<ClientThread*> clients;
  for (uint32_t i = 0; i < settings.clients; ++i) {
    clients.push_back(&hosts.add_client<ClientThread, ServerThread>(window, latencies));
  }
  hosts.start();
  hosts.schedule.run_until(begin);
  const Time client_cpu = hosts.client_cpu();
  const Time server_cpu = hosts.server_cpu();
  hosts.schedule.run_until(begin + span);
  const double clients_us = micros(hosts.client_cpu() - client_cpu);
  const double servers_us = micros(hosts.server_cpu() - server_cpu);
  // Lets the calls in flight end, also those of threads that wait for many others on their core.
  const auto all_answered = [&] { return std::ranges::none_of(clients, &ClientThread::waits); };
  for (int i = 0; i < 1000 && !all_answered(); ++i) {
    hosts.schedule.run_until(hosts.schedule.now() + span / 10);
  }
  if (!all_answered()) {
    std::fprintf(stderr, "engine_bench: a modelled call had no answer\n");
    std::exit(1);
  }
  Account account;
  for (const ClientThread* client : clients) account.add(client->account());
  std::ranges::sort(latencies);
  const double n = std::max<double>(1, double(account.ended));
  nlohmann::ordered_json result = model_json("calls", settings);
  result.update({{"calls", account.ended},
                 {"calls_per_second", rounded(double(account.ended) / settings.seconds, 0)},
                 {"p50_us", rounded(percentile(latencies, 0.5), 3)},
                 {"p99_us", rounded(percentile(latencies, 0.99), 3)},
                 {"client_cpu_us_per_call", rounded(clients_us / n, 3)},
                 {"server_cpu_us_per_call", rounded(servers_us / n, 3)}});
  result.update(account_json(account));
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
