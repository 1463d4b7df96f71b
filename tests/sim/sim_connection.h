// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_connection.h: one simulated TCP connection: two ends, and the bytes in flight
// between the two ends.
#pragma once

#include <deque>
#include <memory>
#include <string>

#include "base/byte_queue.h"
#include "tests/sim/sim_network.h"

namespace hat::sim {

class SimStream;

class SimConnection : public std::enable_shared_from_this<SimConnection> {
 public:
  enum Side : size_t { kClient, kServer };

  SimConnection(SimNetwork& network, const Path& path, uint64_t entity, SimHost& client,
                Random random);

  // --- Called by the network ---
  void begin(bool lost);
  void cut();
  void stall(TimePoint until) { stalled_until_ = std::max(stalled_until_, until); }
  void lose_one_segment();
  bool open() const { return !ends_[kClient].closed || !ends_[kServer].closed; }

  // --- Called by the streams ---
  IoResult read(Side side, std::span<std::byte> into);
  IoResult write(Side side, std::span<const iovec> from);
  void shutdown_write(Side side);
  void close(Side side, bool abort);
  bool readable(Side side) const;
  bool writable(Side side) const;
  void attach(Side side, SimStream* stream) { ends_[side].stream = stream; }
  // Offers the new connection to `on_connection`, in an iteration of the accepting host. Closes the
  // connection if `on_connection` does not accept it.
  void accept(const SimNetwork::OnConnection& on_connection);

  uint64_t entity() const { return entity_; }
  std::string address;

 private:
  struct Item {
    enum class Kind : uint8_t { kData, kEnd, kReset };
    Kind kind = Kind::kData;
    std::string bytes;
  };
  struct End {
    SimHost* host = nullptr;
    SimStream* stream = nullptr;
    bool established = false;
    bool closed = false;
    bool end_sent = false;
    bool end_received = false;
    int error = 0;
    size_t unread = 0;  // bytes that this end has written and the other end has not read
    ByteQueue received;
    std::deque<Item> incoming;  // data and signals in flight to this end
    TimePoint last_arrival{};
  };

  void establish(SimHost& server);
  void fail(Side side, int error);
  void send(Side to, Item item);
  void deliver(Side to);
  void lose_in_flight(Side to);
  Duration latency() { return random_.between(path_.latency_min, path_.latency_max); }
  static Side other(Side side) { return side == kClient ? kServer : kClient; }

  SimNetwork& network_;
  const Path path_;
  const uint64_t entity_;
  Random random_;
  End ends_[2];
  TimePoint stalled_until_{};
  bool cut_ = false;
  bool lose_next_ = false;
};

}  // namespace hat::sim
