// SPDX-License-Identifier: Apache-2.0
// engine/legs/rendezvous.h: the common part of both rendezvous legs. The receiver finds memory for
// a message that the sender has announced: a buffer of its arena or, if it READs the message, the
// memory of the application for which the message is. Then one of the two sides moves the message
// in chunks, with several chunks outstanding.
//
// Bounds   at most kRendezvousMax messages per lane and direction; at most RendezvousOptions::depth
//          outstanding chunks of `chunk_bytes` bytes. If the receiver has no free buffer,
//          announcements wait in the order of their messages.
#pragma once

#include <vector>

#include "base/fifo.h"
#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class Rendezvous : public LegHandler {
 public:
  Rendezvous(RdmaLane& lane, Leg leg);
  void on_completion(uint64_t cookie) override;
  bool poll() override;
  bool wants_poll() const override {
    return !announced_.empty() || (out_ == 0 && !moving_.empty());
  }
  uint64_t first_waiting() const override {
    return announced_.empty() ? UINT64_MAX : announced_.front().sequence;
  }

 protected:
  // A message whose bytes this side moves.
  struct Transfer {
    uint64_t sequence = 0;
    RemoteBuffer there;
    Segment here;
    uint32_t posted = 0;
    uint32_t moved = 0;
  };
  // A message that the other side has announced to this side. `here` is empty until this side has
  // found memory for the message: in `buffer`, or in an application's memory.
  struct Incoming {
    uint64_t sequence = 0;
    FrameHeader frame;
    RemoteBuffer there;
    Segment here;
    Buffer buffer;
  };

  // Handles an announcement; called at the receiver. `there` is the message's memory at the sender;
  // it is empty if the sender moves the bytes.
  void announced(const Envelope& control, const RemoteBuffer& there);
  // Starts the transfer (READ) or requests it (WRITE); called at the receiver, once it has found
  // memory for the message.
  virtual void on_buffer(const Incoming& incoming) = 0;
  // Passes message `sequence` to the lane; called at the receiver, once the whole message is in its
  // memory.
  void arrived(uint64_t sequence);
  // Returns the message with this number that has memory, or null if there is none.
  const Incoming* incoming(uint64_t sequence) const;

  void move(const Transfer& transfer);
  virtual void post_chunk(const Transfer& transfer, const Segment& here, const RemoteBuffer& there,
                          bool last) = 0;
  virtual void on_moved([[maybe_unused]] const Transfer& transfer) {}

 private:
  void post_chunks();
  bool find_buffers();
  bool find_memory(Incoming& message);
  void update_may_poll() { set_may_poll(!announced_.empty() || !moving_.empty()); }

  Fifo<Incoming> announced_;
  std::vector<Incoming> incoming_;
  std::vector<Transfer> moving_;
  uint32_t out_ = 0;  // the number of outstanding chunks
};

// Returns the remote buffer that is the body of an announcement or an offer, or nullopt if the body
// has another size.
std::optional<RemoteBuffer> remote_buffer_in(std::span<const std::byte> body);

}  // namespace hat::engine
