// SPDX-License-Identifier: Apache-2.0
// bench/engine/model_lanes.h: RDMA lanes between modelled hosts: the engine's own code, in virtual
// time.
//
//   client hosts                                     server host
//   a thread for each client, with a lane ══ card ══ card ══ a thread for each client
//
// Thread   one thread runs all hosts of a model.
#pragma once

#include <chrono>
#include <deque>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "bench/account.h"
#include "bench/engine/measure.h"
#include "bench/model/host.h"
#include "bench/model/model_fabric.h"
#include "engine/memory/arena.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::bench {

// One thread with one lane.
class LaneThread : public model::Thread, public engine::LaneEvents {
 public:
  // Makes the client's or the server's end of a lane. All arguments must outlive the thread.
  LaneThread(model::Host& host, model::QueuePairs& pairs, const Settings& settings, bool server);

  void connect(LaneThread& other);
  void take_fabric_events();

 protected:
  // Charges the work for a message to send. A later step sends it, when this work is done and the
  // lane takes it.
  void send(engine::FrameHeader header, engine::Bytes payload);
  // Returns how many messages wait to be sent.
  size_t waiting() const { return ready_.size(); }
  // Charges the work for a message that has arrived.
  void charge_arrival(engine::Bytes payload) { charge(work(payload.size(), sums_in_)); }

 private:
  struct Message {
    engine::FrameHeader header;
    std::vector<std::byte> payload;
  };

  bool sums(const engine::LaneShape& shape) const;
  model::Time work(size_t bytes, bool sums);
  model::Then step() override;
  // Prepares what the thread sends without being asked. Each step calls this.
  virtual void begin() {}
  void on_down(const std::string& reason) override;

  const Settings& settings_;
  model::ModelFabric fabric_;
  std::unique_ptr<engine::Arena> arena_;
  std::unique_ptr<engine::Poller> poller_;
  std::unique_ptr<engine::RdmaLane> lane_;
  bool sums_out_ = false;
  bool sums_in_ = false;
  std::deque<Message> ready_;
};

// All hosts, with a pair of threads for each client.
class LaneHosts {
 public:
  explicit LaneHosts(const Settings& settings);

  // Makes a client's thread, of a class that is made as a LaneThread is, with `more`.
  template <class Client, class Server, class... More>
  Client& add_client(More&... more) {
    model::Host& host = *client_hosts_[clients_.size() % client_hosts_.size()];
    servers_.push_back(std::make_unique<Server>(server_, pairs_, settings_, true));
    auto client = std::make_unique<Client>(host, pairs_, settings_, false, more...);
    Client& made = *client;
    clients_.push_back(std::move(client));
    return made;
  }
  // Connects the lanes, and starts all threads.
  void start();
  model::Time client_cpu() const;
  model::Time server_cpu() const;

  model::Schedule schedule;

 private:
  const Settings& settings_;
  model::QueuePairs pairs_;
  model::Host server_;
  std::vector<std::unique_ptr<model::Host>> client_hosts_;
  std::vector<std::unique_ptr<LaneThread>> servers_;
  std::vector<std::unique_ptr<LaneThread>> clients_;
};

// Returns the settings as fields of a measurement's result.
nlohmann::ordered_json model_json(const char* measurement, const Settings& settings);

// Returns a time of the model in the type that an Account counts with.
inline Account::Clock::time_point point(model::Time time) {
  return Account::Clock::time_point(time);
}
inline double micros(model::Time time) {
  return std::chrono::duration<double, std::micro>(time).count();
}

}  // namespace hat::bench
