// SPDX-License-Identifier: Apache-2.0
#include "bench/dds/queue.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <algorithm>
#include <cstring>

#include "bench/dds/patience.h"

namespace hat::bench {
namespace {

constexpr uint64_t kTail = 0;
constexpr uint64_t kTailReady = 64;
constexpr uint64_t kHead = 128;
constexpr uint64_t kHeadReady = 192;

uint64_t checksum(const std::byte* value, size_t bytes, uint64_t ticket) {
  return XXH3_64bits_withSeed(value, bytes, ticket);
}

// Writes a value, and its checksum if the queue has checksums, in the layout of a slot.
void write_slot(std::byte* slot, std::span<const std::byte> value, uint64_t ticket,
                const QueueShape& shape) {
  std::ranges::copy(value.first(shape.value_bytes), slot);
  if (!shape.checksums) return;
  const uint64_t sum = checksum(slot, shape.value_bytes, ticket);
  std::memcpy(slot + shape.padded_value_bytes(), &sum, sizeof sum);
}

bool is_written(const std::byte* slot, uint64_t ticket, const QueueShape& shape) {
  if (!shape.checksums) return true;
  uint64_t sum = 0;
  std::memcpy(&sum, slot + shape.padded_value_bytes(), sizeof sum);
  return sum == checksum(slot, shape.value_bytes, ticket);
}

}  // namespace

// --- One-sided access ---

Outcome RemoteQueue::push(std::span<const std::byte> value, Level level) {
  if (!push_ticket_) {
    const Word ticket = owner_.fetch_add(shape_.offset + kTail, 1);
    if (!ticket) return Outcome::kLost;
    push_ticket_ = *ticket;
  }
  const uint64_t ticket = *push_ticket_;
  if (ticket >= seen_head_ready_ + shape_.capacity) {
    const Word seen = get_word(kHeadReady);
    if (!seen) return Outcome::kLost;
    seen_head_ready_ = *seen;
    if (ticket >= seen_head_ready_ + shape_.capacity) return Outcome::kFull;
  }
  write_slot(owner_.local().data(), value, ticket, shape_);
  if (!owner_.put(shape_.slot_offset(ticket), shape_.slot_bytes())) return Outcome::kLost;
  push_ticket_.reset();
  if (level == Level::kWrite || shape_.checksums) return Outcome::kDone;
  return advance(kTailReady, ticket);
}

Outcome RemoteQueue::pop(std::span<std::byte> value, Level level) {
  if (!pop_ticket_) {
    const Word ticket = owner_.fetch_add(shape_.offset + kHead, 1);
    if (!ticket) return Outcome::kLost;
    pop_ticket_ = *ticket;
  }
  const uint64_t ticket = *pop_ticket_;
  if (ticket >= seen_tail_ready_ && (level == Level::kRead || !shape_.checksums)) {
    const Word seen = get_word(kTailReady);
    if (!seen) return Outcome::kLost;
    seen_tail_ready_ = *seen;
    if (ticket >= seen_tail_ready_) return Outcome::kEmpty;
  }
  if (const Outcome taken = take_slot(ticket, value); taken != Outcome::kDone) return taken;
  pop_ticket_.reset();
  if (level == Level::kRead) return Outcome::kDone;
  return advance(kHeadReady, ticket);
}

Outcome RemoteQueue::take_slot(uint64_t ticket, std::span<std::byte> value) {
  if (!owner_.get(shape_.slot_offset(ticket), shape_.slot_bytes())) return Outcome::kLost;
  const std::byte* slot = owner_.local().data();
  if (!is_written(slot, ticket, shape_)) return Outcome::kEmpty;
  std::copy_n(slot, shape_.value_bytes, value.begin());
  return Outcome::kDone;
}

void RemoteQueue::begin_phase() {
  push_ticket_.reset();
  pop_ticket_.reset();
  seen_tail_ready_ = 0;
  seen_head_ready_ = 0;
}

RemoteQueue::Word RemoteQueue::get_word(uint64_t offset) {
  if (const auto got = owner_.get(shape_.offset + offset, sizeof(uint64_t)); !got) {
    return std::unexpected(got.error());
  }
  uint64_t value = 0;
  std::memcpy(&value, owner_.local().data(), sizeof value);
  return value;
}

Outcome RemoteQueue::advance(uint64_t offset, uint64_t ticket) {
  for (Patience patience; patience.again();) {
    const Word before = owner_.compare_swap(shape_.offset + offset, ticket, ticket + 1);
    if (!before) return Outcome::kLost;
    if (*before == ticket) return Outcome::kDone;
  }
  return Outcome::kLost;
}

// --- The owner's local access ---

uint64_t& LocalQueue::word(uint64_t offset) const {
  return *reinterpret_cast<uint64_t*>(memory_.data() + shape_.offset + offset);
}

void LocalQueue::clear() {
  std::ranges::fill(memory_.subspan(shape_.offset, shape_.bytes()), std::byte{0});
}

Outcome LocalQueue::push(std::span<const std::byte> value) {
  const uint64_t ticket = word(kTail);
  if (ticket - word(kHead) == shape_.capacity) return Outcome::kFull;
  write_slot(memory_.data() + shape_.slot_offset(ticket), value, ticket, shape_);
  word(kTail) = word(kTailReady) = ticket + 1;
  return Outcome::kDone;
}

Outcome LocalQueue::pop(std::span<std::byte> value) {
  const uint64_t ticket = word(kHead);
  if (ticket == word(kTail)) return Outcome::kEmpty;
  std::copy_n(memory_.data() + shape_.slot_offset(ticket), shape_.value_bytes, value.begin());
  word(kHead) = word(kHeadReady) = ticket + 1;
  return Outcome::kDone;
}

void LocalQueue::settle(Level ended) {
  uint64_t& tail_ready = word(kTailReady);
  uint64_t& head_ready = word(kHeadReady);
  if (ended == Level::kWrite) {
    tail_ready = std::min(word(kTail), head_ready + shape_.capacity);
  } else if (ended == Level::kRead) {
    head_ready = std::min(word(kHead), tail_ready);
  } else if (shape_.checksums) {
    tail_ready = std::max(tail_ready, head_ready);
    while (tail_ready < word(kTail) &&
           is_written(memory_.data() + shape_.slot_offset(tail_ready), tail_ready, shape_)) {
      ++tail_ready;
    }
  }
  word(kTail) = tail_ready;
  word(kHead) = head_ready;
}

uint64_t LocalQueue::size() const { return word(kTailReady) - word(kHeadReady); }

std::span<const std::byte> LocalQueue::at(uint64_t i) const {
  const uint64_t ticket = word(kHeadReady) + i;
  return std::span<const std::byte>(memory_).subspan(shape_.slot_offset(ticket),
                                                     shape_.value_bytes);
}

}  // namespace hat::bench
