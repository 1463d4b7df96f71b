// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_network.h: a clock, its events, and streams between hosts, all derived from a seed.
//
// The network may do the following to a stream, and the daemon must cope with it: split and join
// writes; take fewer bytes than offered and return fewer than requested (the socket API promises
// neither); hold bytes back (stall: a lost packet is sent again); return kWouldBlock if the reader
// is slow; lose bytes in flight and break (cut: a router, a cable, a killed process); answer late
// data with RST (in every kernel, a close with unread bytes does that); refuse or lose a connect.
// It never reorders, changes or repeats bytes, because TCP does not.
//
// Time advances only from event to event. Events of the same time run in the order of their
// entities, so that the order of unrelated calls at one moment does not matter.
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
  size_t window_bytes = 128 * 1024;  // written but not yet read, in one direction
  uint32_t split_percent = 20;       // writes that arrive in pieces, cut at awkward places
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
  // Runs events until the time `until`, or until `done()` returns true after an event. Returns
  // false if it reached `until`.
  bool run_until(TimePoint until, const std::function<bool()>& done);

  // Calls `on_connection` in an iteration of `host`, once for each connection to `address`.
  using OnConnection = std::function<void(const ListenerEvents::Accept&)>;
  void listen(const Address& address, SimHost& host, OnConnection on_connection);
  void stop_listening(const Address& address);
  void set_path(const Address& address, const Path& path);

  // --- Faults, on all connections to `address` ---
  void cut(const Address& address);
  void stall(const Address& address, Duration time);
  void lose_connects(const Address& address, Duration time);
  // Loses one segment towards the side that connected to `address`. This breaks TCP's promise, for
  // a canary.
  void lose_one_segment(const Address& address);

  std::unique_ptr<ByteStream> connect(SimHost& host, const Address& to, StreamEvents& events);

  uint64_t new_entity() { return ++entities_; }
  void add_host(SimHost& host) { hosts_.push_back(&host); }
  void remove_host(SimHost& host) { std::erase(hosts_, &host); }
  void look_at_descriptors();
  // Prints what happens, for a person who replays a seed.
  void trace() { tracing_ = true; }
  void say(const std::string& text) const;

  uint64_t events_run() const { return events_run_; }
  // Returns a hash over the time and entity of every event: two runs with equal hashes took the
  // same path.
  uint64_t fingerprint() const { return fingerprint_; }
  size_t connections_open(const Address& address);

 private:
  friend class SimConnection;
  struct ListenerState {
    SimHost* host = nullptr;  // null: no host listens
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
  std::vector<SimHost*> hosts_;
};

}  // namespace hat::sim
