// SPDX-License-Identifier: Apache-2.0
// engine/fabric/loop/transfer.cc: posts, performs and completes the requests of a queue pair of the
// loop fabric.
#include <algorithm>
#include <cstring>
#include <utility>

#include "engine/fabric/loop/barrier.h"
#include "engine/fabric/loop/objects.h"

namespace hat::engine::loop {
namespace {

bool goes_by_the_ring(Opcode opcode) {
  return opcode == Opcode::kSend || opcode == Opcode::kSendImm || opcode == Opcode::kWriteImm;
}

uint32_t right_for(Opcode opcode) {
  switch (opcode) {
    case Opcode::kRead:
      return kMayRead;
    case Opcode::kCompareSwap:
    case Opcode::kFetchAdd:
      return kMayAtomic;
    default:
      return kMayWrite;
  }
}

bool is_atomic(Opcode opcode) {
  return opcode == Opcode::kCompareSwap || opcode == Opcode::kFetchAdd;
}

// The pieces of a message that is still in the sender's memory or in the ring. copy_to() copies the
// pieces into the segments `to` of a receive, which must have space for all pieces.
struct Gather {
  struct Piece {
    const std::byte* data;
    size_t bytes;
  };
  std::array<Piece, kSegmentsMax> pieces;
  size_t count = 0;

  void copy_to(std::span<const Segment> to) const {
    size_t filled = 0;  // bytes of to.front() that are filled
    for (size_t i = 0; i < count; ++i) {
      auto [data, left] = pieces[i];
      while (left != 0) {
        if (filled == to.front().bytes) {
          to = to.subspan(1);
          filled = 0;
          continue;
        }
        const size_t part = std::min<size_t>(left, to.front().bytes - filled);
        std::memcpy(to.front().data + filled, data, part);
        data += part;
        filled += part;
        left -= part;
      }
    }
  }
};

// Copies a value that the peer can change at any time. Later code must use the copy only; the
// barrier keeps the compiler from reading `there` again.
template <class T>
T read_once(const T& there) {
  const T copy = there;
  light_barrier();
  return copy;
}

uint64_t do_atomic(const WorkRequest& work, std::byte* remote) {
  std::atomic_ref<uint64_t> word(*reinterpret_cast<uint64_t*>(remote));
  if (work.opcode == Opcode::kFetchAdd) return word.fetch_add(work.compare_or_add);
  uint64_t before = work.compare_or_add;
  word.compare_exchange_strong(before, work.swap);
  return before;
}

}  // namespace

// --- Posting ---

size_t LoopQueuePair::post(std::span<const WorkRequest> chain) {
  if (state_ == QueuePairState::kUnconnected) return 0;
  const bool starts = attached() && state_ == QueuePairState::kConnected;
  const uint64_t before = posted_;
  bool solicited = false;
  size_t taken = 0;
  for (; taken < chain.size(); ++taken) {
    const WorkRequest& work = chain[taken];
    if (sends_.tail - sends_.freed == options_.send_entries || work.segments.size() > kSegmentsMax)
      break;
    uint64_t bytes = 0;
    for (const Segment& segment : work.segments) bytes += segment.bytes;
    if (bytes > (work.inlined ? options_.inline_bytes_max : UINT32_MAX)) break;
    Request& request = this->request(sends_.tail);
    request = {.id = work.id,
               .ring_end = 0,
               .bytes = static_cast<uint32_t>(bytes),
               .opcode = work.opcode,
               .status = Status::kSuccess,
               .signaled = work.signaled};
    if (work.signaled) sends_.signaled.push_back(sends_.tail);
    ++sends_.tail;
    sends_.check();
    solicited |= work.solicited;
    if (starts) {
      if (!broken_) start(work, request);
    } else if (state_ == QueuePairState::kConnected && !gone_) {
      keep(work);
    }
  }
  if (posted_ != before) ring_receiver(solicited);
  ring_own_sender();
  if (!other_ && !gone_ && deadline_ == Clock::time_point::max() &&
      state_ == QueuePairState::kConnected) {
    set_deadline(options_.ack_timeout * (options_.retries + 1));  // for the peer to connect
  }
  return taken;
}

// Rings the doorbell of this side's send_cq if requests are done or flushed. The peer rings this
// doorbell only when it takes an entry, and so not for requests that are done at once.
void LoopQueuePair::ring_own_sender() {
  if (send_cq_.armed() == Wake::kNone || sends_.head == sends_.tail) return;
  const uint64_t taken = taken_there();
  if (state_ == QueuePairState::kError || (broken_ && is_done(sends_.started - 1, taken)) ||
      (!sends_.signaled.empty() && is_done(sends_.signaled.front(), taken))) {
    send_cq_.ring_if_armed();
  }
}

// Keeps a request until the peer has connected and sent kReady (attached()). Copies the request's
// segments and inlined bytes, because the caller's copies are valid only until post() returns.
void LoopQueuePair::keep(const WorkRequest& work) {
  Early& early = sends_.early.emplace_back();
  early.work = work;
  early.segment_count = work.segments.size();
  std::ranges::copy(work.segments, early.segments.begin());
  if (!work.inlined) return;
  std::byte* at = early.inlined_bytes.data();
  for (Segment& segment : std::span(early.segments).first(early.segment_count)) {
    std::memcpy(at, segment.data, segment.bytes);
    at += segment.bytes;
  }
}

void LoopQueuePair::start_early() {
  const uint64_t before = posted_;
  bool solicited = false;
  for (Early& early : sends_.early) {
    if (broken_ || state_ != QueuePairState::kConnected) break;
    const auto segments = std::span(early.segments).first(early.segment_count);
    std::byte* at = early.inlined_bytes.data();
    for (Segment& segment : segments) {
      if (early.work.inlined) segment.data = std::exchange(at, at + segment.bytes);
    }
    early.work.segments = segments;
    start(early.work, request(sends_.started));
    solicited |= early.work.solicited;
  }
  sends_.early = {};
  if (posted_ != before) ring_receiver(solicited);
}

// Starts a request. The ring always has space for the request's entry, because a queue pair has at
// most kRingEntries outstanding requests.
void LoopQueuePair::start(const WorkRequest& work, Request& request) {
  request.status = check_local(work);
  if (request.status == Status::kSuccess) request.status = touch(work, request.bytes);
  if (request.status != Status::kSuccess) {
    broken_ = true;
  } else if (goes_by_the_ring(work.opcode)) {
    push(work, request.bytes);
    ++posted_;
  }
  request.ring_end = posted_;
  ++sends_.started;
}

Status LoopQueuePair::check_local(const WorkRequest& work) const {
  if (work.inlined) return Status::kSuccess;
  // The receiver copies a SEND out of this side's memory. So the segments of a SEND must be in
  // regions that the receiver knows, and not in memory of register_own().
  const bool is_send = work.opcode == Opcode::kSend || work.opcode == Opcode::kSendImm;
  for (const Segment& segment : work.segments) {
    const std::byte* at = is_send ? fabric_.local(segment) : fabric_.own(segment);
    if (segment.bytes != 0 && at == nullptr) return Status::kLocalProtection;
  }
  return Status::kSuccess;
}

// Performs the one-sided part of a request (WRITE, READ or atomic) in the peer's memory. Sets
// `bytes` to 8 for an atomic.
Status LoopQueuePair::touch(const WorkRequest& work, uint32_t& bytes) {
  if (work.opcode == Opcode::kSend || work.opcode == Opcode::kSendImm) return Status::kSuccess;
  if (is_atomic(work.opcode)) {
    if (work.segments.size() != 1 || bytes < sizeof(uint64_t)) return Status::kLocalLength;
    bytes = sizeof(uint64_t);
    if (work.remote_address % sizeof(uint64_t) != 0) return Status::kRemoteInvalid;
  }
  if (bytes == 0) return Status::kSuccess;
  const uint32_t right = right_for(work.opcode);
  const size_t alignment = is_atomic(work.opcode) ? sizeof(uint64_t) : 1;
  if ((other_->out->rights.load(std::memory_order_relaxed) & right) == 0) {
    return Status::kRemoteInvalid;
  }
  other_->out->touching.store(1, std::memory_order_relaxed);
  light_barrier();
  Status status = Status::kRetryExceeded;
  if (other_->out->receiver_gone.load(std::memory_order_acquire) == 0) {
    std::byte* at = remote(work.rkey, work.remote_address, bytes, right);
    // The peer can claim any address as the beginning of its region, so `at` can be misaligned even
    // if the remote address is aligned.
    if (reinterpret_cast<uintptr_t>(at) % alignment != 0) at = nullptr;
    status = at == nullptr ? Status::kRemoteAccess : Status::kSuccess;
    if (at != nullptr) do_one_sided(work, at);
    // If the receiver has failed meanwhile, the request fails too: the receiver may have reused its
    // memory during a READ.
    if (other_->out->receiver_gone.load(std::memory_order_acquire) != 0) {
      status = Status::kRetryExceeded;
    }
  }
  other_->out->touching.store(0, std::memory_order_release);
  return status;
}

void LoopQueuePair::do_one_sided(const WorkRequest& work, std::byte* remote) {
  if (is_atomic(work.opcode)) {
    const uint64_t before = do_atomic(work, remote);
    std::memcpy(work.segments[0].data, &before, sizeof before);
    return;
  }
  for (const Segment& segment : work.segments) {
    if (work.opcode == Opcode::kRead) {
      std::memcpy(segment.data, remote, segment.bytes);
    } else {
      std::memcpy(remote, segment.data, segment.bytes);
    }
    remote += segment.bytes;
  }
}

// Returns the address in this process of `bytes` bytes of the peer's region `key`, or nullptr if
// the peer does not permit the access. If `right` is 0, the access needs no right.
std::byte* LoopQueuePair::remote(uint32_t key, uint64_t address, uint64_t bytes, uint32_t right) {
  const uint32_t index = key % kRegionsMax;
  const RegionRow& row = other_->regions().rows[index];
  if (key == 0 || row.key.load(std::memory_order_acquire) != key) return nullptr;
  const uint32_t rights = row.rights;
  const uint64_t begin = row.address;
  const uint64_t size = row.bytes;
  if ((rights & right) != right || address < begin) return nullptr;
  const uint64_t offset = address - begin;
  if (offset > size || bytes > size - offset) return nullptr;
  Other::Memory& memory = other_->memories[index];
  // If this side has not read the region's descriptor yet, it reads the descriptor now. The channel
  // has it, because the peer sent it before any side could learn the region's key.
  if (memory.key != key && (!read_channel() || memory.key != key)) return nullptr;
  const auto mapped = memory.memory->bytes();
  if (offset > mapped.size() || bytes > mapped.size() - offset) return nullptr;
  return mapped.data() + offset;
}

void LoopQueuePair::push(const WorkRequest& work, uint32_t bytes) {
  RingEntry& entry = other_->out->entries[posted_ % kRingEntries];
  EntryHead head{.opcode = work.opcode,
                 .inlined = work.inlined,
                 .segment_count = 0,
                 .imm = work.imm,
                 .bytes = bytes};
  if (work.opcode == Opcode::kWriteImm) {
    // touch() has already written the bytes
  } else if (work.inlined) {
    std::byte* at = entry.inlined_bytes;
    for (const Segment& segment : work.segments) {
      std::memcpy(at, segment.data, segment.bytes);
      at += segment.bytes;
    }
  } else {
    for (const Segment& segment : work.segments) {
      entry.segments[head.segment_count++] = {reinterpret_cast<uint64_t>(segment.data),
                                              segment.bytes, segment.lkey};
    }
  }
  entry.head = head;
  entry.turn.store(turn_of(posted_), std::memory_order_release);
}

// Returns true if the peer's next entry has arrived.
bool LoopQueuePair::there() const {
  const RingEntry& next = other_->in->entries[taken_ % kRingEntries];
  return next.turn.load(std::memory_order_acquire) == turn_of(taken_);
}

// Wakes the peer if it sleeps until an entry arrives. Must be called after this side has stored
// RingEntry::turn of an entry, or has announced a failure.
void LoopQueuePair::ring_receiver(bool solicited) {
  light_barrier();
  const Wake wake = other_->out->wakes_receiver.load(std::memory_order_relaxed);
  if (wake == Wake::kNone || (wake == Wake::kSolicited && !solicited)) return;
  if (other_->out->wakes_receiver.exchange(Wake::kNone) != Wake::kNone) {
    ring_by(other_->receives_doorbell.get());
  }
}

void LoopQueuePair::ring_sender() {
  light_barrier();
  if (other_->in->wakes_sender.load(std::memory_order_relaxed) == Wake::kNone) return;
  if (other_->in->wakes_sender.exchange(Wake::kNone) != Wake::kNone) {
    ring_by(other_->sends_doorbell.get());
  }
}

void LoopQueuePair::on_receive_posted() {
  if (!attached() || !there()) return;
  other_->in->refused.store(0, std::memory_order_release);
  recv_cq_.ring_if_armed(true);
}

void LoopQueuePair::set_receive_wake(Wake wake) {
  if (attached()) other_->in->wakes_receiver.store(wake);
}

void LoopQueuePair::set_send_wake(bool wanted) {
  if (!attached()) return;
  other_->out->wakes_sender.store(wanted ? Wake::kAny : Wake::kNone);
}

// --- Completing ---

uint64_t LoopQueuePair::taken_there() const {
  return attached() ? other_->out->taken.load(std::memory_order_acquire) : gone_taken_;
}

// Returns true if no completion of a send can result now: no signaled request is outstanding, no
// request has failed, and none can fail for lack of a receive. This side then does not read the
// peer's word Direction::taken, so that the word's cache line stays with the peer's core.
bool LoopQueuePair::nobody_asks() const {
  return state_ == QueuePairState::kConnected && sends_.signaled.empty() && !broken_ &&
         options_.rnr_retries == 7;
}

bool LoopQueuePair::is_done(uint64_t index, uint64_t taken) {
  return index < sends_.started && taken >= request(index).ring_end;
}

size_t LoopQueuePair::complete_sends(std::span<Completion> into) {
  if (sends_.head == sends_.tail || nobody_asks()) return 0;
  const uint64_t taken = taken_there();
  size_t found = 0;
  // Completes the signaled requests. If a signaled request is done, so are all unsignaled requests
  // before it.
  while (found < into.size() && !sends_.signaled.empty()) {
    const uint64_t index = sends_.signaled.front();
    if (!is_done(index, taken) || request(index).status != Status::kSuccess) break;
    into[found++] = completion_of(request(index), Status::kSuccess);
    sends_.signaled.pop_front();
    sends_.freed = sends_.head = index + 1;
    sends_.check();
  }
  if (state_ == QueuePairState::kConnected && !broken_) check_refusal(taken);
  if (state_ == QueuePairState::kConnected && !broken_) return found;
  return found + complete_failing(into.subspan(found), taken);
}

// Completes requests one by one: first the requests before the failed request, then the failed
// request, then the later requests, which are flushed.
size_t LoopQueuePair::complete_failing(std::span<Completion> into, uint64_t taken) {
  size_t found = 0;
  while (sends_.head != sends_.tail && found < into.size()) {
    const Request& front = request(sends_.head);
    Status status = front.status;
    if (!is_done(sends_.head, taken)) {
      if (state_ == QueuePairState::kConnected) check_refusal(taken);
      if (state_ != QueuePairState::kError) break;
      status = std::exchange(why_failed_, Status::kFlushed);
    }
    if (front.signaled) sends_.signaled.pop_front();
    const bool reported = front.signaled || status != Status::kSuccess;
    if (reported) into[found++] = completion_of(front, status);
    sends_.started = std::max(sends_.started, ++sends_.head);
    // As on a device, unsignaled requests keep their entries until a later completion shows that
    // they are done.
    if (reported) sends_.freed = sends_.head;
    sends_.check();
    if (status != Status::kSuccess) {
      set_failing(status);
      why_failed_ = Status::kFlushed;
    }
  }
  return found;
}

Completion LoopQueuePair::completion_of(const Request& request, Status status) const {
  return {.id = request.id,
          .status = status,
          .opcode = request.opcode,
          .bytes = request.bytes,
          .queue_pair = number_};
}

// Checks whether the peer refuses entry number `taken`. If taking the entry failed at the peer,
// this queue pair fails at once. If the peer has no receive, this queue pair fails after all
// retries.
void LoopQueuePair::check_refusal(uint64_t taken) {
  if (!attached()) return;
  const uint64_t refused = other_->out->refused.load(std::memory_order_acquire);
  if (refused == refused_at(taken, Refusal::kFailed)) return set_failing(Status::kRemoteOperation);
  if (refused != refused_at(taken, Refusal::kNoReceive) || options_.rnr_retries == 7) return;
  if (deadline_ == Clock::time_point::max() || deadline_for_ != taken) {
    deadline_for_ = taken;
    set_deadline(options_.rnr_timer * options_.rnr_retries);
  }
  check_deadline(Clock::now());
}

size_t LoopQueuePair::complete_receives(std::span<Completion> into) {
  if (!attached() || state_ != QueuePairState::kConnected) return 0;
  Direction& in = *other_->in;
  if (!there()) {
    if (in.sender_failed.load(std::memory_order_acquire) != 0) {
      check_refusal(taken_there());  // an entry of this side may have made the peer fail
      set_failing(Status::kFlushed);
    }
    return 0;
  }
  if (in.sender_failed.load(std::memory_order_acquire) != 0) {
    set_failing(Status::kFlushed);  // at the peer, its remaining requests complete as kFlushed
    return 0;
  }
  const size_t found = take_entries(into);
  if (state_ == QueuePairState::kConnected && failed_in_taking_) set_failing(Status::kFlushed);
  return found;
}

size_t LoopQueuePair::take_entries(std::span<Completion> into) {
  Direction& in = *other_->in;
  const uint64_t taken_before = taken_;
  size_t found = 0;
  std::optional<size_t> gathers;  // index of the first completion copied from the peer's memory
  for (; found < into.size() && there(); ++taken_) {
    if (srq_.empty()) {
      in.refused.store(refused_at(taken_, Refusal::kNoReceive), std::memory_order_release);
      srq_.note_missing();
      break;
    }
    const RingEntry& entry = in.entries[taken_ % kRingEntries];
    const EntryHead head = read_once(entry.head);
    if (head.opcode != Opcode::kWriteImm && head.inlined == 0 && !gathers) {
      gathers = found;
      in.gathering.store(1, std::memory_order_relaxed);
      light_barrier();
      if (in.sender_failed.load(std::memory_order_acquire) != 0) break;  // the next poll handles it
    }
    Completion& done = into[found++];
    done = {.queue_pair = number_};
    done.status = take_entry(head, entry, srq_.front(), done);
    srq_.pop_front();
    if (done.status == Status::kSuccess) continue;
    in.refused.store(refused_at(taken_, Refusal::kFailed), std::memory_order_release);
    failed_in_taking_ = true;
    break;
  }
  if (gathers && in.sender_failed.load(std::memory_order_acquire) != 0) {
    // The sender has failed, and may have reused its memory before this side copied the bytes. So
    // the first completion whose bytes came from there, and all later ones, become kFlushed.
    for (size_t i = *gathers; i < found; ++i) into[i].status = Status::kFlushed;
    taken_ = taken_before + *gathers;
    failed_in_taking_ = true;
  }
  if (gathers) in.gathering.store(0, std::memory_order_release);
  in.taken.store(taken_, std::memory_order_release);
  ring_sender();
  return found;
}

Status LoopQueuePair::take_entry(const EntryHead& head, const RingEntry& entry,
                                 const LoopReceiveQueue::Receive& receive, Completion& done) {
  const uint32_t bytes = head.bytes;
  done.id = receive.id;
  done.bytes = bytes;
  done.imm = head.imm;
  done.has_imm = head.opcode != Opcode::kSend;
  done.opcode = head.opcode == Opcode::kWriteImm ? Opcode::kReceiveWriteImm : Opcode::kReceive;
  if (head.opcode == Opcode::kWriteImm) return Status::kSuccess;

  const std::span<const Segment> to(receive.segments.data(), receive.segment_count);
  uint64_t space = 0;
  for (const Segment& segment : to) {
    if (segment.bytes != 0 && fabric_.local(segment) == nullptr) return Status::kLocalProtection;
    space += segment.bytes;
  }
  if (bytes > space) return Status::kLocalLength;

  Gather from;
  if (head.inlined != 0) {
    if (bytes > kInlineBytesMax) return Status::kOther;
    from.pieces[from.count++] = {entry.inlined_bytes, bytes};
  } else {
    const size_t count = std::min<size_t>(head.segment_count, kSegmentsMax);
    uint64_t left = bytes;
    for (size_t i = 0; i < count; ++i) {
      const RingSegment segment = read_once(entry.segments[i]);
      if (segment.bytes > left) return Status::kOther;
      left -= segment.bytes;
      const std::byte* at =
          segment.bytes == 0 ? nullptr : remote(segment.lkey, segment.address, segment.bytes, 0);
      if (segment.bytes != 0 && at == nullptr) return Status::kOther;
      from.pieces[from.count++] = {at, segment.bytes};
    }
    if (left != 0) return Status::kOther;
  }
  from.copy_to(to);
  return Status::kSuccess;
}

}  // namespace hat::engine::loop
