// SPDX-License-Identifier: Apache-2.0
#include "engine/legs/rendezvous.h"

#include <algorithm>
#include <cstring>

#include "engine/rdma/poller.h"

namespace hat::engine {

Rendezvous::Rendezvous(RdmaLane& lane, Leg leg) : LegHandler(lane, leg) {
  incoming_.reserve(kRendezvousMax);
  moving_.reserve(kRendezvousMax);
}

// --- The receiver: buffers ---

void Rendezvous::announced(const Envelope& control, const RemoteBuffer& there) {
  const auto sequence = receiver_.coming_sequence(control.sequence, 32);
  const uint32_t bytes = control.frame.payload_bytes;
  // The most announcements that may be open. With a fetch leg, it is the number of slots: the
  // sender leaves messages in its slots, and can later announce all of them at once.
  const uint32_t at_once =
      row(receiver_.shape().leg).replies ? receiver_.shape().slots : kRendezvousMax;
  const bool good = sequence && receiver_.receives_by(leg_) && bytes != 0 &&
                    bytes <= lane_.options().rendezvous.message_bytes_max &&
                    incoming_.size() + announced_.size() < at_once &&
                    receiver_.announce(*sequence, control.frame);
  if (!good) return lane_.breaks("it announces a message that is not expected now");
  announced_.push_back({.sequence = *sequence, .frame = control.frame, .there = there});
  find_buffers();
}

bool Rendezvous::find_buffers() {
  bool found = false;
  while (!announced_.empty() && announced_.front().sequence == lane_.first_waiting()) {
    Incoming& first = announced_.front();
    if (!find_memory(first)) break;
    receiver_.begin_to_move(first.sequence);
    found = true;
    incoming_.push_back(std::move(first));
    announced_.pop_front();
    on_buffer(incoming_.back());
  }
  update_may_poll();
  return found;
}

// Finds memory for a message. Returns false if there is none yet. Only READs go to an application's
// memory: a peer's WRITE would need the right to access this memory.
bool Rendezvous::find_memory(Incoming& message) {
  if (!receiver_.is_announced(message.sequence)) {
    lane_.breaks("it sent a message in another way than it announced");
    return false;
  }
  const uint32_t bytes = message.frame.payload_bytes;
  if (row(leg_).reads) {
    const Landing landing = receiver_.landing_for(message.sequence);
    message.here = {landing.data, bytes, landing.lkey};
    if (landing.data != nullptr) return true;
    if (landing.later) return false;
  }
  auto buffer = lane_.poller().arena().take_target(bytes, lane_.options().owner);
  if (!buffer) {
    lane_.check_refusal(Purpose::kReceive, bytes);
    return false;
  }
  message.buffer = std::move(*buffer);
  message.here = {message.buffer.bytes().data(), bytes, message.buffer.lkey()};
  return true;
}

const Rendezvous::Incoming* Rendezvous::incoming(uint64_t sequence) const {
  const auto found = std::ranges::find(incoming_, sequence, &Incoming::sequence);
  return found == incoming_.end() ? nullptr : &*found;
}

void Rendezvous::arrived(uint64_t sequence) {
  const auto found = std::ranges::find(incoming_, sequence, &Incoming::sequence);
  Incoming incoming = std::move(*found);
  incoming_.erase(found);
  receiver_.arrive(sequence, incoming.frame, {incoming.here.data, incoming.here.bytes},
                   std::move(incoming.buffer), leg_);
}

// --- The side that moves the bytes ---

void Rendezvous::move(const Transfer& transfer) {
  moving_.push_back(transfer);
  post_chunks();
  update_may_poll();
}

void Rendezvous::post_chunks() {
  const RendezvousOptions& options = lane_.options().rendezvous;
  for (Transfer& transfer : moving_) {
    while (transfer.posted < transfer.here.bytes) {
      if (out_ >= options.depth || lane_.space() == 0) return;
      const uint32_t left = transfer.here.bytes - transfer.posted;
      const uint32_t bytes = std::min(left, options.chunk_bytes);
      const Segment here{transfer.here.data + transfer.posted, bytes, transfer.here.lkey};
      const RemoteBuffer there{transfer.there.address + transfer.posted, bytes,
                               transfer.there.rkey};
      transfer.posted += bytes;
      ++out_;
      post_chunk(transfer, here, there, bytes == left);
    }
  }
}

// Chunks complete in the order in which they were posted, so the completed chunk belongs to the
// first transfer.
void Rendezvous::on_completion(uint64_t) {
  --out_;
  Transfer& first = moving_.front();
  const uint32_t left = first.here.bytes - first.moved;
  first.moved += std::min(left, lane_.options().rendezvous.chunk_bytes);
  if (first.moved == first.here.bytes) {
    const Transfer moved = first;
    moving_.erase(moving_.begin());
    on_moved(moved);
  }
  post_chunks();
  update_may_poll();
}

bool Rendezvous::poll() {
  post_chunks();
  return find_buffers();
}

std::optional<RemoteBuffer> remote_buffer_in(std::span<const std::byte> body) {
  if (body.size() != sizeof(RemoteBuffer)) return std::nullopt;
  RemoteBuffer remote;
  std::memcpy(&remote, body.data(), sizeof remote);
  return remote;
}

}  // namespace hat::engine
