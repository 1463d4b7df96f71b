// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_network.h"

#include <glog/logging.h>

#include <cstdio>

#include "tests/sim/sim_connection.h"
#include "tests/sim/sim_reactor.h"

namespace hat::sim {

SimNetwork::~SimNetwork() = default;

void SimNetwork::drop_events() {
  // The destruction of an event can add another one.
  while (!events_.empty()) std::exchange(events_, {}).clear();
}

void SimNetwork::say(const std::string& text) const {
  if (!tracing_) return;
  const auto us = std::chrono::duration_cast<std::chrono::microseconds>(now_ - kStart).count();
  std::fprintf(stderr, "%10.3f ms  %s\n", static_cast<double>(us) / 1000, text.c_str());
}

void SimNetwork::at(TimePoint when, uint64_t entity, std::function<void()> what) {
  CHECK(when >= now_) << "an event in the past";
  events_.emplace(Key{when, entity, ++sequence_}, std::move(what));
}

bool SimNetwork::run_until(TimePoint until, const std::function<bool()>& done) {
  constexpr uint64_t kPrime = 0x100000001b3;
  while (!events_.empty() && events_.begin()->first.when <= until) {
    auto node = events_.extract(events_.begin());
    now_ = node.key().when;
    ++events_run_;
    fingerprint_ = (fingerprint_ ^ static_cast<uint64_t>(now_.time_since_epoch().count())) * kPrime;
    fingerprint_ = (fingerprint_ ^ node.key().entity) * kPrime;
    node.mapped()();
    if (done()) return true;
  }
  now_ = until;
  return false;
}

void SimNetwork::listen(const Address& address, SimHost& host, OnConnection on_connection) {
  ListenerState& listener = at_address(address);
  listener.host = &host;
  listener.on_connection = std::move(on_connection);
}

void SimNetwork::stop_listening(const Address& address) { at_address(address).host = nullptr; }

void SimNetwork::set_path(const Address& address, const Path& path) {
  at_address(address).path = path;
}

void SimNetwork::each_connection(const Address& address,
                                 const std::function<void(SimConnection&)>& what) {
  auto& connections = at_address(address).connections;
  std::erase_if(connections, [](const auto& weak) {
    const auto connection = weak.lock();
    return !connection || !connection->open();
  });
  for (const auto& weak : std::vector(connections)) {
    if (const auto connection = weak.lock()) what(*connection);
  }
}

void SimNetwork::cut(const Address& address) {
  each_connection(address, [](SimConnection& connection) { connection.cut(); });
}

void SimNetwork::stall(const Address& address, Duration time) {
  const TimePoint until = now_ + time;
  each_connection(address, [until](SimConnection& connection) { connection.stall(until); });
}

void SimNetwork::lose_connects(const Address& address, Duration time) {
  at_address(address).lost_until = now_ + time;
}

void SimNetwork::lose_one_segment(const Address& address) {
  each_connection(address, [](SimConnection& connection) { connection.lose_one_segment(); });
}

size_t SimNetwork::connections_open(const Address& address) {
  size_t count = 0;
  each_connection(address, [&](SimConnection&) { ++count; });
  return count;
}

std::unique_ptr<ByteStream> SimNetwork::connect(SimHost& host, const Address& to,
                                                StreamEvents& events) {
  ListenerState& listener = at_address(to);
  const uint64_t entity = new_entity();
  const Random random(seed_ ^ (entity * 0x9e3779b97f4a7c15));
  auto connection = std::make_shared<SimConnection>(*this, listener.path, entity, host, random);
  connection->address = to_string(to);
  listener.connections.push_back(connection);
  auto stream = std::make_unique<SimStream>(host, connection, SimConnection::kClient, events);
  connection->begin(now_ < listener.lost_until);
  return stream;
}

void SimNetwork::look_at_descriptors() {
  for (SimHost* host : watching_) host->look_at_descriptors();
}

}  // namespace hat::sim
