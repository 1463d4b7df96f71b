// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_network.h: the simulated network: a clock, scheduled events, and TCP connections
// between hosts. All of it follows from a random seed.
//
// The network can do this to a connection:
//  - split and join writes;
//  - take fewer bytes than write() offers, and return fewer bytes than read() asks for;
//  - hold bytes back (stall), as TCP does when it sends a lost packet again;
//  - return kWouldBlock to the writer if the reader is slow;
//  - lose the bytes in flight and break (cut), as after the failure of a router or process;
//  - answer data to a closed end with RST, and send RST if an end is closed with unread bytes;
//  - refuse or lose a connect.
// The network never reorders, changes or repeats bytes, because TCP does not.
//
// Time advances only from event to event. Each event belongs to an entity (a host or connection).
// Events of the same time run in the order of their entities' numbers, so that their order does not
// depend on the order in which they were scheduled.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/reactor.h"
#include "tests/sim/random.h"

namespace hat::sim {

class SimConnection;
class SimHost;

// The behaviour of the connections to one address.
struct Path {
  Duration latency_min = std::chrono::microseconds(5);
  Duration latency_max = std::chrono::microseconds(60);
  size_t window_bytes = 128 * 1024;  // limit of bytes written but not yet read, per direction
  uint32_t split_percent = 20;       // writes that arrive in pieces of random sizes
  uint32_t short_percent = 10;       // reads and writes that move fewer bytes than possible
};

class SimNetwork {
 public:
  static constexpr TimePoint kStart{std::chrono::hours(1)};

  explicit SimNetwork(uint64_t seed) : seed_(seed) {}
  ~SimNetwork();

  TimePoint now() const { return now_; }
  void at(TimePoint when, uint64_t entity, std::function<void()> what);
  void after(Duration wait, std::function<void()> what) { at(now_ + wait, 0, std::move(what)); }
  // Runs events until the time `until`, or until `done()` returns true after an event. Returns true
  // if `done()` returned true, and false if the time `until` was reached.
  bool run_until(TimePoint until, const std::function<bool()>& done);

  // Makes `host` listen at `address`: for each connection to `address`, `on_connection` is called
  // in an iteration of `host`.
  using OnConnection = std::function<void(const ListenerEvents::Accept&)>;
  void listen(const Address& address, SimHost& host, OnConnection on_connection);
  void stop_listening(const Address& address);
  void set_path(const Address& address, const Path& path);

  // --- Faults, on all connections to `address` ---
  void cut(const Address& address);
  void stall(const Address& address, Duration time);
  void lose_connects(const Address& address, Duration time);
  // Loses one segment to the client's end of each connection to `address`, without an error. Real
  // TCP never does this. It is the mistake of a canary.
  void lose_one_segment(const Address& address);

  std::unique_ptr<ByteStream> connect(SimHost& host, const Address& to, StreamEvents& events);

  uint64_t new_entity() { return ++entities_; }
  // Adds and removes a host that watches descriptors, for look_at_descriptors().
  void add_watching(SimHost& host) { watching_.push_back(&host); }
  void remove_watching(SimHost& host) { std::erase(watching_, &host); }
  void look_at_descriptors();
  // Makes say() print its texts to stderr, to follow the run of one seed.
  void trace() { tracing_ = true; }
  void say(const std::string& text) const;

  uint64_t events_run() const { return events_run_; }
  // Drops the events that have not run. Events can own objects that use hosts, so call this before
  // the hosts are destroyed.
  void drop_events();
  // Returns a hash over the time and entity of all events so far. Two runs with equal hashes ran
  // the same events.
  uint64_t fingerprint() const { return fingerprint_; }
  size_t connections_open(const Address& address);

 private:
  friend class SimConnection;
  struct ListenerState {
    SimHost* host = nullptr;  // nullptr: no host listens at this address
    OnConnection on_connection;
    Path path;
    TimePoint lost_until{};
    std::vector<std::weak_ptr<SimConnection>> connections;
  };
  struct Key {
    TimePoint when;
    uint64_t entity;
    uint64_t sequence;
    auto operator<=>(const Key&) const = default;
  };
  ListenerState& at_address(const Address& address) { return listeners_[to_string(address)]; }
  void each_connection(const Address& address, const std::function<void(SimConnection&)>& what);

  const uint64_t seed_;
  bool tracing_ = false;
  TimePoint now_ = kStart;
  std::map<Key, std::function<void()>> events_;
  uint64_t sequence_ = 0;
  uint64_t entities_ = 0;
  uint64_t events_run_ = 0;
  uint64_t fingerprint_ = 0xcbf29ce484222325;
  std::map<std::string, ListenerState> listeners_;
  std::vector<SimHost*> watching_;
};

}  // namespace hat::sim
