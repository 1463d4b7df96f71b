// SPDX-License-Identifier: Apache-2.0
// engine/rdma/request_chain.h: builds the work requests of one lane, collects them in a chain that
// is posted in one call, makes some of them signaled, and counts the send entries in use.
//
// A request uses a send entry of the queue pair until a signaled request completes: this request,
// or a later one. Therefore at least one of `send_entries` / 4 successive requests is signaled.
//
//   appended ──post_to()──▶ with the device ──complete()──▶ done
//
// Bounds   at most kLengthMax requests in a chain; at most `send_entries` requests that are not
//          done.
// Thread   the thread of the lane.
// Errors   post_to() returns false if the queue pair refuses a request; the lane must then go down.
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

  // The object to notify once a signaled request is done: none, a leg handler, or the probe.
  enum class Waiter : uint8_t { kNone, kLeg, kProbe };
  struct Signaled {
    // The value of posted() just after this request was appended; done() has this value once the
    // request completes.
    uint64_t posted = 0;
    Waiter waiter{};
    Leg leg{};  // for kLeg: the leg to notify, with `cookie`
    uint64_t cookie = 0;
  };

  RequestChain(uint32_t send_entries, uint32_t inline_bytes_max);
  RequestChain(const RequestChain&) = delete;
  RequestChain& operator=(const RequestChain&) = delete;

  bool is_full() const { return requests_.size() == kLengthMax; }
  // Returns the number of requests appended so far, including those that post_to() has not posted
  // yet.
  uint64_t posted() const { return posted_; }
  // Returns how many requests are known to be done.
  uint64_t done() const { return done_; }
  uint32_t entries_free() const { return send_entries_ - static_cast<uint32_t>(posted_ - done_); }
  bool has_waiters() const { return waiters_ != 0; }
  uint32_t inline_bytes_max() const { return inline_bytes_max_; }
  bool is_inline(uint32_t bytes) const { return bytes <= inline_bytes_max_; }
  // Makes all requests signaled that are appended after a call with true, until a call with false.
  void signal_every(bool every) { signals_every_ = every; }

  // Appends a request. The caller must check that the chain is not full and that a send entry is
  // free. The returned reference is valid until the chain is posted.
  WorkRequest& append(Opcode opcode, const Segment& segment, const RemoteBuffer& remote);
  // Adds a second segment to the last request, which must have one segment.
  void gather(const Segment& second);
  // Makes the last request signaled. When it completes, complete() returns `waiter`, `leg` and
  // `cookie`.
  void await(Waiter waiter, Leg leg, uint64_t cookie);

  // Posts the chain to `pair`, and empties the chain. Returns false if `pair` did not accept all
  // requests.
  bool post_to(QueuePair& pair);
  void discard() { requests_.clear(); }
  // Records the completion of the oldest outstanding signaled request, and returns this request.
  // Returns nullopt if no signaled request is outstanding.
  std::optional<Signaled> complete();

 private:
  void signal(WorkRequest& work);

  const uint32_t send_entries_;
  const uint32_t inline_bytes_max_;
  uint64_t posted_ = 0;
  uint64_t done_ = 0;
  uint64_t last_signaled_ = 0;  // the value of posted_ at the last signaled request
  bool signals_every_ = false;
  uint32_t waiters_ = 0;  // outstanding requests with a waiter other than kNone
  Fifo<Signaled> signaled_;
  std::vector<WorkRequest> requests_;  // the chain: requests that are not posted yet
  std::array<std::array<Segment, 2>, kLengthMax> segments_;
};

}  // namespace hat::engine
