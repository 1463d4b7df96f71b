// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/call_queue.h: the unanswered calls of one client connection, in the order
// in which the client must get their answers.
//
// Bounds   The ClientConnection that owns the queue limits the number of calls
//          (limits.max_pipelined). The memory of all calls but the first kCallsUncounted counts
//          towards limits.max_buffered.
// Thread   the worker's.
// Always   The calls that were sent have ascending ordinals. failed_ <= size()
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "base/fifo.h"
#include "daemon/proxy/call.h"

namespace hat {

class Worker;

class CallQueue {
 public:
  explicit CallQueue(Worker& worker) : worker_(worker) {}
  ~CallQueue();
  CallQueue(const CallQueue&) = delete;
  CallQueue& operator=(const CallQueue&) = delete;

  bool empty() const { return calls_.empty(); }
  size_t size() const { return calls_.size(); }
  Call& operator[](size_t i) { return *calls_[i]; }  // [0] is the oldest call
  const Call& operator[](size_t i) const { return *calls_[i]; }
  Call& front() { return *calls_.front(); }
  const Call& front() const { return *calls_.front(); }

  // Appends a new call of `connection`, and returns the call. The queue owns the call until the
  // call is removed.
  Call& add(ClientConnection* connection, const thrift::Head& head, Reply reply,
            FunctionCounters& counters);
  // Adds to `call` another two-way message of the same Thrift frame, so that the client expects one
  // more reply to `call`.
  void add_message(Call& call, const thrift::Head& head);
  // Records that `call` has failed. The caller answers `call` once all calls before `call` are
  // answered.
  void mark_failed(Call& call, engine::Failure failure, std::string detail);
  // Removes and deletes the oldest call.
  void pop_front();
  // Counts a call of which a part was sent, by what carried the request and the reply, and by the
  // reason if TCP carried a call that wants RDMA. Call this when the reply is complete, before the
  // client can see its end: a client that has the reply then finds the call in the metrics. The
  // queue counts all other calls when they leave it.
  static void count_way(Call& call);
  // Ends the part of an answered call in what is learned about its function.
  void end_learning(Call& call);
  // Ends this part without a measurement. The queue does so for all calls that leave it.
  void drop_learning(Call& call);
  // Removes and deletes the newest call.
  void pop_back();
  // Returns the outcome of a call that ends without an answer: `local_error` if it has failed, or
  // else `unknown`.
  static CallOutcome unanswered_outcome(const Call& call) {
    return call.failure ? CallOutcome::kLocalError : CallOutcome::kUnknown;
  }
  // Removes and deletes all calls, and counts unanswered_outcome() for each call.
  void forget_all();

  // Returns true if each of the `count` oldest calls was sent, has not failed, and may be oneway.
  bool may_all_be_oneway(size_t count) const;
  // Returns the newest of the `count` oldest calls that was sent, or nullptr if none was.
  const Call* newest_sent(size_t count) const;
  // Returns true if a call has failed and all calls before this call may be oneway. A call that may
  // be oneway may never get a reply, and then the failed call would never be answered.
  bool holds_up_failure() const;

 private:
  static constexpr size_t kCallsUncounted = 64;

  void give_back(Call& call);

  Worker& worker_;
  Fifo<Call*> calls_;
  size_t failed_ = 0;  // the number of calls in the queue that have failed
};

}  // namespace hat
