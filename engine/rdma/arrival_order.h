// SPDX-License-Identifier: Apache-2.0
// engine/rdma/arrival_order.h: keeps the early messages of one lane, which have arrived before a
// message with a lower number. Also keeps the number of the message to deliver next.
//
// Bounds   as many messages as the lane has slots: the messages from next() on.
// Thread   the thread of the lane.
// Always   next() <= highest_ <= next() + slots
#pragma once

#include <algorithm>
#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "engine/lane.h"
#include "engine/memory/arena.h"
#include "engine/protocols.h"

namespace hat::engine {

// A message that has arrived or was announced; kept until all messages before it have been
// delivered.
struct Arrival {
  enum class Stage : uint8_t {
    kUnknown,    // nothing is known of the message
    kAnnounced,  // its sender has announced it, so that `frame` is known
    kMoving,     // it was announced, and has memory into which one of the sides moves it
    kHere,       // it has arrived
  };
  Stage stage = Stage::kUnknown;
  bool landed = false;  // the payload is, or will be, in memory from LaneEvents::landing_for()
  bool here() const { return stage == Stage::kHere; }
  Leg leg = Leg::kSend;
  FrameHeader frame;
  Bytes payload;  // in `receive`, in `buffer`, in the lane's window, or in an application's memory
  std::optional<uint32_t> receive;  // the number of a receive of the poller
  Buffer buffer;
};

class ArrivalOrder {
 public:
  // Creates an order for `slots` messages, a power of two.
  explicit ArrivalOrder(uint32_t slots) : arrivals_(slots) {}

  size_t slots() const { return arrivals_.size(); }
  uint64_t next() const { return next_; }
  Arrival& at(uint64_t sequence) { return arrivals_[sequence & (arrivals_.size() - 1)]; }
  const Arrival& at(uint64_t sequence) const {
    return arrivals_[sequence & (arrivals_.size() - 1)];
  }
  std::span<Arrival> all() { return arrivals_; }
  // Returns true if message `sequence` may arrive now: it has a slot, and has not arrived yet.
  bool is_coming(uint64_t sequence) const {
    return sequence >= next_ && sequence < next_ + arrivals_.size() && !at(sequence).here();
  }
  // Returns true if an arrived message waits for a message with a lower number.
  bool has_gap() const { return highest_ > next_; }

  // Keeps a message that is_coming().
  void keep(uint64_t sequence, Arrival arrival) {
    DCHECK(is_coming(sequence)) << "message " << sequence << " has no slot or has arrived";
    at(sequence) = std::move(arrival);
    at(sequence).stage = Arrival::Stage::kHere;
    highest_ = std::max(highest_, sequence + 1);
  }
  // Counts message next() as delivered. Returns its number.
  uint64_t advance() {
    const uint64_t delivered = next_++;
    highest_ = std::max(highest_, next_);
    DCHECK_LE(highest_, next_ + arrivals_.size());
    return delivered;
  }

 private:
  std::vector<Arrival> arrivals_;
  uint64_t next_ = 0;
  uint64_t highest_ = 0;  // 1 + the highest message number that has arrived
};

}  // namespace hat::engine
