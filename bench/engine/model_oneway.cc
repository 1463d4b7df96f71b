// SPDX-License-Identifier: Apache-2.0
// bench/engine/model_oneway.cc: messages in one direction over RDMA lanes between modelled hosts.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "base/rounded.h"
#include "bench/engine/model_lanes.h"

namespace hat::bench {
namespace {

using namespace engine;
using model::Time;

class Receiver final : public LaneThread {
 public:
  using LaneThread::LaneThread;

 private:
  void on_frame(const FrameHeader&, Bytes payload) override { charge_arrival(payload); }
};

// Sends as many messages as the lane takes, with one doorbell for several.
class Sender final : public LaneThread {
 public:
  Sender(model::Host& host, model::QueuePairs& pairs, const Settings& settings, bool server)
      : LaneThread(host, pairs, settings, server), payload_(settings.bytes, std::byte{7}) {}

  // Returns the number of messages that were sent so far.
  uint64_t sent() const { return prepared_ - waiting(); }

 private:
  void begin() override {
    constexpr size_t kTogether = 16;  // as in measure_oneway()
    while (waiting() < kTogether) {
      send({.kind = FrameKind::kCall, .flags = kLastPiece, .stream = 1, .call = ++prepared_},
           payload_);
    }
  }
  void on_frame(const FrameHeader&, Bytes) override {}

  const std::vector<std::byte> payload_;
  uint64_t prepared_ = 0;
};

}  // namespace

void model_oneway(const Settings& settings) {
  const Time span(static_cast<int64_t>(settings.seconds * 1e9));
  LaneHosts hosts(settings);
  std::vector<const Sender*> senders;
  for (uint32_t i = 0; i < settings.clients; ++i) {
    senders.push_back(&hosts.add_client<Sender, Receiver>());
  }
  const auto sent = [&] {
    uint64_t sum = 0;
    for (const Sender* sender : senders) sum += sender->sent();
    return sum;
  };
  hosts.start();
  hosts.schedule.run_until(span / 5);
  const uint64_t before = sent();
  const Time client_cpu = hosts.client_cpu();
  const Time server_cpu = hosts.server_cpu();
  hosts.schedule.run_until(span / 5 + span);
  const uint64_t messages = sent() - before;
  const double n = std::max<double>(1, double(messages));
  const double gigabytes = double(messages) * double(settings.bytes) * 1e-9;
  nlohmann::ordered_json result = model_json("oneway", settings);
  result.update(
      {{"confirm_each", settings.confirm_each},
       {"messages_per_second", rounded(double(messages) / settings.seconds, 0)},
       {"gigabytes_per_second", rounded(gigabytes / settings.seconds, 3)},
       {"client_cpu_us_per_message", rounded(micros(hosts.client_cpu() - client_cpu) / n, 4)},
       {"server_cpu_us_per_message", rounded(micros(hosts.server_cpu() - server_cpu) / n, 4)}});
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
