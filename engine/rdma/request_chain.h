// SPDX-License-Identifier: Apache-2.0
// engine/rdma/request_chain.h: the work requests of one lane: builds them, chains them until they
// are posted in one call, signals some of them, and counts the send entries that they hold.
//
// A request holds a send entry of its queue pair until it, or a later request, is signaled and
// completes. So at least every `send_entries` / 4th request is signaled.
//
//   appended ──post_to()──▶ with the device ──complete()──▶ done
//
// Bounds   kLengthMax requests in a chain; `send_entries` requests that are not done.
// Thread   its lane's.
// Errors   post_to() returns false if the queue pair refuses a request; the lane then goes down.
// Always   done() <= the last signaled request <= posted() <= done() + send_entries
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/fifo.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class RequestChain {
 public:
  static constexpr uint32_t kLengthMax = 32;

  // The object that acts once a signaled request is done.
  enum class Waiter : uint8_t { kNone, kLeg, kProbe };
  struct Signaled {
    uint64_t posted = 0;  // requests up to this one: all are done once it completes
    Waiter waiter{};
    Leg leg{};  // of the waiter kLeg, like `cookie`
    uint64_t cookie = 0;
  };

  RequestChain(uint32_t send_entries, uint32_t inline_bytes_max);
  RequestChain(const RequestChain&) = delete;
  RequestChain& operator=(const RequestChain&) = delete;

  bool is_full() const { return requests_.size() == kLengthMax; }
  // Returns the number of requests so far, including those that are not with the device yet.
  uint64_t posted() const { return posted_; }
  // Returns how many of them are known to be done.
  uint64_t done() const { return done_; }
  uint32_t entries_free() const { return send_entries_ - static_cast<uint32_t>(posted_ - done_); }
  bool has_waiters() const { return waiters_ != 0; }
  uint32_t inline_bytes_max() const { return inline_bytes_max_; }
  bool is_inline(uint32_t bytes) const { return bytes <= inline_bytes_max_; }
  // Signals all requests that are appended until `every` is false again.
  void signal_every(bool every) { signals_every_ = every; }

  // Appends a request to a chain that is not full, if a send entry is free. The reference is valid
  // until the chain is posted.
  WorkRequest& append(Opcode opcode, const Segment& segment, const RemoteBuffer& remote);
  // Makes the last request, which has one segment, gather a second segment.
  void gather(const Segment& second);
  // Signals the last request. complete() returns the waiter, the leg and the cookie.
  void await(Waiter waiter, Leg leg, uint64_t cookie);

  // Posts the chain, and empties it. Returns false if `pair` did not accept all of it.
  bool post_to(QueuePair& pair);
  void discard() { requests_.clear(); }
  // Counts the completion of the oldest signaled request. Returns nullopt if none is outstanding.
  std::optional<Signaled> complete();

 private:
  void signal(WorkRequest& work);

  const uint32_t send_entries_;
  const uint32_t inline_bytes_max_;
  uint64_t posted_ = 0;
  uint64_t done_ = 0;
  uint64_t last_signaled_ = 0;  // posted_ at the last signaled request
  bool signals_every_ = false;
  uint32_t waiters_ = 0;  // signaled requests that are not done and have a waiter
  Fifo<Signaled> signaled_;
  std::vector<WorkRequest> requests_;  // the chain
  std::array<std::array<Segment, 2>, kLengthMax> segments_;
};

}  // namespace hat::engine
