// SPDX-License-Identifier: Apache-2.0
#include "bench/engine/model_lanes.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "bench/engine/lane_options.h"
#include "bench/engine/two.h"
#include "engine/rdma/lane_memory.h"

namespace hat::bench {

using namespace engine;
using model::Hardware;
using model::Then;
using model::Time;

// --- A thread with a lane ---

LaneThread::LaneThread(model::Host& host, model::QueuePairs& pairs, const Settings& settings,
                       bool server)
    : Thread(host.machine), settings_(settings), fabric_(*this, host.card, pairs, false) {
  const RdmaLaneOptions options = lane_options(settings, server);
  sums_out_ = sums(options.out);
  sums_in_ = sums(options.in);
  const LanePlan plan{options, 1};
  arena_ = must(Arena::create(fabric_, arena_for({&plan, 1}, settings.bytes).arena));
  poller_ = must(Poller::create(fabric_, *arena_, {.completions = 256}));
  lane_ = must(RdmaLane::create(*poller_, options, *this));
}

void LaneThread::connect(LaneThread& other) { must(lane_->connect(other.lane_->offer())); }

void LaneThread::take_fabric_events() {
  while (const auto event = fabric_.next_event()) poller_->on_event(*event);
}

void LaneThread::send(FrameHeader header, Bytes payload) {
  charge(work(payload.size(), sums_out_));
  ready_.push_back({header, {payload.begin(), payload.end()}});
}

// Returns true if messages of this shape carry checksums of the payload.
bool LaneThread::sums(const LaneShape& shape) const {
  return row(settings_.bytes <= shape.slot_bytes ? shape.leg : shape.beyond).sums;
}

Time LaneThread::work(size_t bytes, bool sums) {
  const Hardware& hardware = machine().hardware();
  const double size = static_cast<double>(bytes);
  const double moved = size / hardware.copied_per_ns;
  const double summed = sums ? size / hardware.summed_per_ns : 0;
  return hardware.frame + Time(static_cast<int64_t>(moved + summed));
}

Then LaneThread::step() {
  while (!ready_.empty() && lane_->takes_more()) {
    lane_->send(ready_.front().header, {ready_.front().payload});
    ready_.pop_front();
  }
  lane_->flush();
  begin();
  const size_t found = poller_->poll();
  lane_->flush();
  if (found != 0 || (!ready_.empty() && lane_->takes_more())) return Then::kMore;
  if (settings_.polling == Polling::kBusy) return Then::kSpin;
  if (!poller_->prepare_to_sleep()) return Then::kMore;
  lane_->flush();
  charge(machine().hardware().sleep_call);
  return Then::kSleep;
}

void LaneThread::on_down(const std::string& reason) {
  std::fprintf(stderr, "engine_bench: a modelled lane went down: %s\n", reason.c_str());
  std::exit(1);
}

// --- All hosts ---

LaneHosts::LaneHosts(const Settings& settings)
    : settings_(settings), server_(schedule, settings.hardware) {
  for (uint32_t i = 0; i < std::min(settings.client_hosts, settings.clients); ++i) {
    client_hosts_.push_back(std::make_unique<model::Host>(schedule, settings.hardware));
  }
}

void LaneHosts::start() {
  for (size_t i = 0; i < clients_.size(); ++i) {
    clients_[i]->connect(*servers_[i]);
    servers_[i]->connect(*clients_[i]);
    clients_[i]->take_fabric_events();
    servers_[i]->take_fabric_events();
  }
  for (size_t i = 0; i < clients_.size(); ++i) {
    server_.machine.start(*servers_[i]);
    clients_[i]->machine().start(*clients_[i]);
  }
}

static Time cpu(const std::vector<std::unique_ptr<LaneThread>>& threads) {
  Time sum{};
  for (const auto& thread : threads) sum += thread->busy();
  return sum;
}
Time LaneHosts::client_cpu() const { return cpu(clients_); }
Time LaneHosts::server_cpu() const { return cpu(servers_); }

nlohmann::ordered_json model_json(const char* measurement, const Settings& settings) {
  nlohmann::ordered_json result = {
      {"measurement", measurement},
      {"fabric", "model"},
      {"hardware", settings.hardware.name},
      {"protocol", settings.protocol->name},
      {"bytes", settings.bytes},
      {"clients", settings.clients},
      {"client_hosts", settings.client_hosts},
      {"polling", settings.polling == Polling::kBusy ? "busy" : "event"}};
  if (!settings.times.empty()) result["times"] = settings.times;
  return result;
}

}  // namespace hat::bench
