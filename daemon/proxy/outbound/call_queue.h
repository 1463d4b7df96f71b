// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/call_queue.h: the unanswered calls of one client connection, in the order
// in which the application must get their answers.
//
// Bounds   the owner limits the number of calls (limits.max_pipelined). Calls after the first
//          kCallsUncounted count towards limits.max_buffered.
// Thread   the worker's.
// Always   the calls that were sent have ascending ordinals; failed_ <= size()
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
  Call& operator[](size_t i) { return *calls_[i]; }  // 0: the oldest call
  Call& front() { return *calls_.front(); }
  const Call& front() const { return *calls_.front(); }

  // Appends a call of `connection` that begins now. The queue owns the call until it is removed.
  Call& add(ClientConnection* connection, const thrift::Head& head, Reply reply,
            FunctionCounters& counters);
  // Adds a further two-way message of the frame to `call`, which then owes one answer more.
  void add_message(Call& call, const thrift::Head& head);
  // Records that `call` has failed. Its answer waits until the calls before it are answered.
  void mark_failed(Call& call, engine::Failure failure, std::string detail);
  // Removes and deletes the oldest call, or the newest one.
  void pop_front();
  void pop_back();
  // Removes all calls. Nobody will learn how they end, so each counts as `unknown`.
  void forget_all();

  // Returns true if each of the `count` oldest calls was sent and may be oneway.
  bool may_all_be_oneway(size_t count) const;
  // Returns the newest of the `count` oldest calls that was sent, or nullptr if none was.
  const Call* newest_sent(size_t count) const;
  // Returns true if a call has failed and all calls before it may be oneway. Those may never end,
  // and then the failure would never be answered.
  bool holds_up_failure() const;

 private:
  static constexpr size_t kCallsUncounted = 64;

  void give_back(Call& call);

  Worker& worker_;
  Fifo<Call*> calls_;
  size_t failed_ = 0;  // calls whose failure has not been answered yet
};

}  // namespace hat
