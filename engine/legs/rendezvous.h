// SPDX-License-Identifier: Apache-2.0
// engine/legs/rendezvous.h: what both rendezvous legs do: R finds a buffer for what S announced,
// and one of them moves the bytes in chunks, some at a time.
//
// Bounds   kRendezvousMax messages of a lane and direction, `depth` chunks of `chunk_bytes` on
// their
//          way. An announcement for which R has no buffer waits, in order.
#pragma once

#include <vector>

#include "base/fifo.h"
#include "engine/legs/legs.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::engine {

class Rendezvous : public Mover {
 public:
  Rendezvous(RdmaLane& lane, Leg leg);
  void on_completion(uint64_t cookie) override;
  bool look() override;
  bool looks() const override { return !announced_.empty() || (out_ == 0 && !moving_.empty()); }
  uint64_t first_waiting() const override {
    return announced_.empty() ? UINT64_MAX : announced_.front().sequence;
  }

 protected:
  // A message whose bytes are being moved by this side.
  struct Transfer {
    uint64_t sequence = 0;
    Place there;
    Segment here;
    uint32_t posted = 0;
    uint32_t moved = 0;
  };
  // What S has announced, and then has got a buffer for.
  struct Incoming {
    uint64_t sequence = 0;
    FrameHeader frame;
    Place there;
    Buffer buffer;
  };

  // R: S has said what it has. `there` is empty where it is S who writes.
  void announced(const Envelope& note, const Place& there);
  // R: a buffer was found.
  virtual void on_buffer(const Incoming& incoming) = 0;
  // R: all bytes are in its buffer.
  void arrived(uint64_t sequence);
  Buffer* buffer_of(uint64_t sequence);

  void move(const Transfer& transfer);
  virtual void post_chunk(const Transfer& transfer, const Segment& here, const Place& there,
                          bool last) = 0;
  virtual void on_moved([[maybe_unused]] const Transfer& transfer) {}

 private:
  void post_chunks();
  bool find_buffers();
  void note_what_waits() { set_may_look(!announced_.empty() || !moving_.empty()); }

  Fifo<Incoming> announced_;
  std::vector<Incoming> incoming_;
  std::vector<Transfer> moving_;
  uint32_t out_ = 0;  // chunks
};

// What came behind an announcement or an offer.
std::optional<Place> place_in(std::span<const std::byte> body);

}  // namespace hat::engine
