// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/served_calls.h"

#include <glog/logging.h>

#include <utility>

#include "daemon/proxy/inbound/served_trace.h"
#include "daemon/proxy/worker.h"

namespace hat {

void ServedCall::on_last_piece(uint16_t due, bool several) {
  DCHECK(request == Request::kArriving);
  request = Request::kComplete;
  replies = due;
  if (several) match = Match::kOrder;
  if (due == 0) reply = Reply::kNone;
}

void ServedCall::cancel() {
  if (is_cancelled()) return;
  request = is_complete() ? Request::kCancelled : Request::kCut;
}

ServedCalls::~ServedCalls() {
  for (size_t i = 0; i < calls_.size(); ++i) count(calls_[i], CallOutcome::kUnknown);
  buffered(held_.size() + counted_bytes(), 0);
}

void ServedCalls::buffered(size_t before, size_t now) const {
  worker_.buffered(static_cast<int64_t>(now) - static_cast<int64_t>(before), share_);
}

// --- The queue ---

void ServedCalls::add(const ServedCall& call) {
  DCHECK(takes(call.ordinal)) << "ordinals ascend, and calls arrive one after the other";
  last_ordinal_ = call.ordinal;
  const size_t before = counted_bytes();
  calls_.push_back(call);
  buffered(before, counted_bytes());
}

ServedCall* ServedCalls::arriving(uint64_t ordinal) {
  return is_arriving() && calls_.back().ordinal == ordinal ? &calls_.back() : nullptr;
}

bool ServedCalls::all_may_be_done() const {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (!calls_[i].may_be_done()) return false;
  }
  return true;
}

void ServedCalls::end_front(CallOutcome outcome) {
  DCHECK_EQ(calls_.front().held_bytes, 0u) << "the next call would get them";
  count(calls_.front(), outcome);
  calls_.pop_front();
  give_back_queue();
}

void ServedCalls::end_newest(CallOutcome outcome) {
  DCHECK_EQ(calls_.back().held_bytes, 0u) << "the next call would get them";
  count(calls_.back(), outcome);
  calls_.pop_back();
  give_back_queue();
}

void ServedCalls::become_opaque() {
  for (size_t i = 0; i < calls_.size(); ++i) count(calls_[i], CallOutcome::kUnknown);
  calls_.clear();
  give_back_queue();
}

// Frees the memory of a queue that had grown and is empty.
void ServedCalls::give_back_queue() {
  if (!calls_.empty() || counted_bytes() == 0) return;
  buffered(counted_bytes(), 0);
  calls_ = {};
}

void ServedCalls::count(const ServedCall& call, CallOutcome outcome) const {
  FunctionCounters& counters = *call.counters;
  counters.requests[static_cast<size_t>(outcome)].add();
  counters.request_sizes.add(call.request_bytes);
  counters.reply_sizes.add(call.response_bytes);
  const TimePoint now = worker_.reactor().now();
  if (outcome <= CallOutcome::kApplicationException) counters.latency.add(now - call.started);
  end_served_trace(worker_.spans(), call, outcome, now);
}

void ServedCalls::replace_lane(uint32_t number, const InboundLane& by) {
  for (size_t i = 0; i < calls_.size(); ++i) {
    if (calls_[i].lane.number == number) calls_[i].lane = by;
  }
}

// --- Held bytes ---

// Asserts that the sum of the calls' held_bytes is the size of the buffer. Skips long queues,
// because the check takes time for each call, and runs at each change.
void ServedCalls::check_held() const {
  if (calls_.size() > kCallsUncounted) return;
  size_t sum = 0;
  for (size_t i = 0; i < calls_.size(); ++i) sum += calls_[i].held_bytes;
  DCHECK_EQ(sum, held_.size()) << "held bytes that belong to no call";
}

void ServedCalls::hold(ServedCall& call, Bytes bytes) {
  DCHECK(&call == &calls_.back()) << "bytes are held in the order of the calls";
  call.held_bytes += bytes.size();
  held_.append(bytes);
  buffered(0, bytes.size());
  check_held();
}

size_t ServedCalls::drop_held(ServedCall& call) {
  const size_t bytes = std::exchange(call.held_bytes, 0);
  if (bytes == 0) return 0;
  held_.consume(bytes);
  buffered(bytes, 0);
  check_held();
  return bytes;
}

size_t ServedCalls::drop_newest_held() {
  const size_t bytes = std::exchange(calls_.back().held_bytes, 0);
  held_.drop_last(bytes);
  buffered(bytes, 0);
  check_held();
  return bytes;
}

void ServedCalls::hold_opaque(Bytes bytes) {
  DCHECK(calls_.empty()) << "an opaque stream has no calls";
  held_.append(bytes);
  buffered(0, bytes.size());
}

ByteQueue ServedCalls::take_opaque() {
  DCHECK(calls_.empty()) << "an opaque stream has no calls";
  buffered(held_.size(), 0);
  return std::exchange(held_, {});
}

// --- Replies ---

ServedCalls::Answered ServedCalls::answered_by(const thrift::Head& head,
                                               const UpstreamConnection& from) const {
  using What = Answered::What;
  if (head.type != thrift::MessageType::kReply && head.type != thrift::MessageType::kException) {
    return {};
  }
  if (!calls_.empty() && front().replies_seen != 0) {
    const bool owes_one = front().match == ServedCall::Match::kNameAndId;
    return {owes_one ? What::kNothing : What::kCall};
  }
  const uint64_t name = thrift::name_hash(thrift::bare_name(head.name));
  if (!calls_.empty() && front().is_answered_by(name, head.seqid)) return {What::kCall};
  if (from.passed_oneway(name)) return {What::kOnewayCall};
  // Go's Thrift library sends oneway calls as ordinary calls. If no manifest lists the function,
  // the reply to a later call shows that the earlier calls were oneway.
  for (size_t i = 1; i < calls_.size() && calls_[i - 1].may_be_done(); ++i) {
    if (calls_[i].is_answered_by(name, head.seqid)) return {What::kCall, i};
  }
  return {};
}

}  // namespace hat
