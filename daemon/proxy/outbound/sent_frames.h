// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/sent_frames.h: copies of the frames that a stream has sent on RDMA lanes
// and that the peer may not have received. If the lane is lost, the stream sends those that were
// lost again, over TCP (docs/link.md, "A stream that resumes").
//
// The copies are the newest frames without a gap: clear() is called for a frame that is not kept.
//
// Bounds   limits.retry_request bytes of memory for each stream, which count towards
//          limits.max_buffered; no stream takes more memory while half of max_buffered is used.
// Memory   a ring of bytes, which grows to what the stream needs. An object without frames has
//          none: FrameBuffers lends the memory. So calls allocate nothing in the steady state while
//          the memory of all streams with frames is at most FrameBuffers::kReserveBytesMax. Beyond
//          this, memory is allocated when a stream sends and freed when it has its answers.
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "base/check.h"
#include "engine/frame.h"

namespace hat {

class Worker;

// Memory of a worker for the copies of sent frames. The memory in reserve, which no stream uses, is
// at most kReserveBytesMax. It does not count towards limits.max_buffered.
class FrameBuffers {
 public:
  using Memory = std::vector<std::byte>;
  static constexpr size_t kReserveBytesMax = 2 << 20;
  static constexpr size_t kBytesMin = 512;  // of a piece, unless limits.retry_request is less

  // Returns a piece in reserve that has at most `most` bytes, or an empty one if there is none.
  Memory take(size_t most) {
    while (!reserve_.empty()) {
      Memory taken = std::move(reserve_.back());
      reserve_.pop_back();
      reserve_bytes_ -= taken.size();
      if (taken.size() <= most) return taken;  // others are from before a reload
    }
    return {};
  }
  void give_back(Memory memory) {
    if (reserve_bytes_ + memory.size() > kReserveBytesMax) return;
    reserve_bytes_ += memory.size();
    reserve_.push_back(std::move(memory));
  }

 private:
  std::vector<Memory> reserve_;
  size_t reserve_bytes_ = 0;
};

class SentFrames {
 public:
  using Bytes = std::span<const std::byte>;

  explicit SentFrames(Worker& worker) : worker_(worker) {}
  ~SentFrames() { clear(); }
  SentFrames(const SentFrames&) = delete;
  SentFrames& operator=(const SentFrames&) = delete;

  // Returns the number of kept frames: the newest ones that were sent.
  uint64_t count() const { return count_; }
  // Returns true if half of the space is used, and no kept frame is a kSync frame. The peer's
  // answer to such a frame would make space.
  bool needs_sync() const;

  // Keeps a frame that is sent now. `shown_by` is the number of the first call whose answer shows
  // that the peer has received the frame. If there is no space, drops all frames.
  void add(const engine::FrameHeader& header, std::initializer_list<Bytes> payload,
           uint64_t shown_by);
  // Drops all frames.
  void clear() {
    if (count_ != 0) forget();
  }
  // Drops the frames that the answer to this call shows to have arrived.
  void answered(uint64_t call) {
    while (count_ != 0 && front().shown_by <= call) drop_front();
  }
  // Drops the frames up to the kSync frame with this number, if it is kept.
  void synced(uint64_t number);
  // Calls `send` with the header and the payload, in two parts, of each of the newest `lost`
  // frames, in the order in which they were sent, and drops all frames. At least `lost` frames must
  // be kept.
  void send_again(uint64_t lost, const auto& send) {
    DCHECK_LE(lost, count_);
    while (count_ > lost) drop_front();
    for (; count_ != 0; drop_front()) {
      const Kept kept = front();
      const std::array<Bytes, 2> payload = stored(sizeof kept, kept.header.payload_bytes);
      send(kept.header, payload[0], payload[1]);
    }
  }

 private:
  // Precedes the payload of each frame.
  struct Kept {
    engine::FrameHeader header;
    uint64_t shown_by;
  };

  Kept front() const {
    Kept kept;
    const auto parts = stored(0, sizeof kept);
    const auto bytes = std::as_writable_bytes(std::span(&kept, 1));
    std::ranges::copy(parts[1], std::ranges::copy(parts[0], bytes.begin()).out);
    return kept;
  }
  // Returns the `count` bytes after the first `offset` ones. They are in two parts if they continue
  // at the beginning of the ring.
  std::array<Bytes, 2> stored(size_t offset, size_t count) const {
    DCHECK_LE(offset + count, used_);
    const size_t at = place(offset);
    const size_t first = std::min(count, memory_.size() - at);
    return {Bytes(memory_).subspan(at, first), Bytes(memory_).first(count - first)};
  }
  // Returns the index in `memory_` of the byte after the first `offset` ones.
  size_t place(size_t offset) const {
    const size_t at = begin_ + offset;
    return at < memory_.size() ? at : at - memory_.size();
  }
  bool make_space(size_t bytes);
  void put(Bytes bytes);
  void drop_front();
  void forget();

  Worker& worker_;
  uint64_t count_ = 0;
  uint64_t sync_ = 0;            // the number of the newest kept kSync frame; 0: none
  FrameBuffers::Memory memory_;  // a ring, which has the frames; empty if there are none
  size_t begin_ = 0;             // of the first frame
  size_t used_ = 0;              // bytes of the frames
};

}  // namespace hat
