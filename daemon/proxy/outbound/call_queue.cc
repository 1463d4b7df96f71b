// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/call_queue.h"

#include <utility>

#include "daemon/proxy/worker.h"

namespace hat {

// Returns true if a part of the call was sent on the stream that exists now. Calls that were sent
// on an earlier, lost stream have failed.
static bool in_flight(const Call& call) { return call.sent && !call.failure; }

void CallQueue::count_way(Call& call) {
  const CallWay way = call.way;
  if (way.request == Carrier::kNone) return;
  call.way.request = Carrier::kNone;  // so that the call is counted once
  call.counters->ways.add(way);
  // A request on a lane that was lost later counts for the lane.
  if (way.request != Carrier::kTcp || call.rdma == RdmaWish::kNone) return;
  call.counters->fallbacks[static_cast<size_t>(call.choice.why)].add();
}

CallQueue::~CallQueue() {
  for (size_t i = 0; i < calls_.size(); ++i) give_back(*calls_[i]);
  DCHECK_EQ(failed_, 0u) << "each failed call was counted once";
}

Call& CallQueue::add(ClientConnection* connection, const thrift::Head& head, Reply reply,
                     FunctionCounters& counters) {
  Call& call = *worker_.calls().take();
  call.connection = connection;
  call.counters = &counters;
  call.started = worker_.reactor().now();
  call.head.keep(head);
  call.reply = reply;
  call.replies = reply == Reply::kNone ? 0 : 1;
  counters.started.add();
  if (calls_.size() >= kCallsUncounted) {
    call.counted = true;
    worker_.buffered(sizeof call);
  }
  calls_.push_back(&call);
  return call;
}

void CallQueue::add_message(Call& call, const thrift::Head& head) {
  if (call.replies++ == 0) return call.head.keep(head);
  call.more_heads.emplace_back().keep(head);
  worker_.buffered(sizeof(KeptHead));
}

void CallQueue::mark_failed(Call& call, engine::Failure failure, std::string detail) {
  DCHECK(!call.failure) << "a call fails once";
  if (call.lost && engine::promises_unseen(failure)) {
    detail = "the server may have seen the call; it was sent again, and then failed with " +
             std::string(engine::text(failure).token) + ": " + detail;
    failure = *call.lost;
  }
  call.failure = failure;
  call.failure_detail = std::move(detail);
  ++failed_;
  DCHECK_LE(failed_, calls_.size());
}

void CallQueue::pop_front() {
  Call& call = *calls_.front();
  calls_.pop_front();
  DCHECK(calls_.empty() || !in_flight(call) || !in_flight(*calls_.front()) ||
         call.ordinal < calls_.front()->ordinal)
      << "calls are sent in the order of their answers";
  give_back(call);
}

void CallQueue::pop_back() {
  Call& call = *calls_.back();
  calls_.pop_back();
  give_back(call);
}

void CallQueue::forget_all() {
  for (size_t i = 0; i < calls_.size(); ++i) {
    Call& call = *calls_[i];
    call.counters->requests[static_cast<size_t>(unanswered_outcome(call))].add();
    give_back(call);
  }
  calls_.clear();
}

void CallQueue::give_back(Call& call) {
  count_way(call);
  drop_learning(call);
  if (call.failure) {
    DCHECK_GT(failed_, 0u);
    --failed_;
  }
  worker_.buffered(-static_cast<int64_t>(call.more_heads.size() * sizeof(KeptHead)));
  if (call.counted) worker_.buffered(-static_cast<int64_t>(sizeof call));
  worker_.calls().give_back(&call);
}

void CallQueue::end_learning(Call& call) {
  if (call.by_peer.number == 0) return;
  const LearnedCall learned = std::exchange(call.learned, {});
  if (learned.route == nullptr) return;
  const bool on_rdma = call.choice.lane != 0;
  const bool as_chosen = on_rdma == (call.rdma == RdmaWish::kWanted) &&
                         call.choice.why != Fallback::kUnanswered &&
                         (call.choice.exact || !learned.exact);
  learned.route->end(learned.part, learned.began, worker_.reactor().now(),
                     call.request_bytes + call.response_bytes, as_chosen);
}

void CallQueue::drop_learning(Call& call) {
  if (call.by_peer.number == 0) return;
  const LearnedCall learned = std::exchange(call.learned, {});
  if (learned.route == nullptr) return;
  learned.route->drop(learned.part, learned.began, worker_.reactor().now());
}

bool CallQueue::may_all_be_oneway(size_t count) const {
  for (size_t i = 0; i < count; ++i) {
    const Call& call = *calls_[i];
    if (call.reply != Reply::kPossible || !call.sent || call.failure) return false;
  }
  return true;
}

const Call* CallQueue::newest_sent(size_t count) const {
  while (count != 0 && !calls_[count - 1]->sent) --count;
  return count == 0 ? nullptr : calls_[count - 1];
}

bool CallQueue::holds_up_failure() const {
  if (failed_ == 0) return false;
  for (size_t i = 0; i < calls_.size(); ++i) {
    const Call& call = *calls_[i];
    if (call.failure) return true;
    if (call.reply != Reply::kPossible || call.reply_started) return false;
  }
  return false;
}

}  // namespace hat
