// SPDX-License-Identifier: Apache-2.0
// engine/rdma/waiting_frames.h: a queue of the frames of one lane that wait for a free slot.
//
// The queue copies the payload of a frame, except if the payload is a borrowed range: then the
// queue keeps only the range's address and length.
//
// Bounds   none of its own; the lane goes down once bytes() exceeds RdmaLane::kQueuedBytesMax.
// Thread   the thread of the lane.
// Always   from offset begin_ on, bytes_ has exactly the copied payloads of `frames_`
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "base/check.h"
#include "base/fifo.h"
#include "engine/lane.h"
#include "engine/memory/borrowed_range.h"
#include "engine/rdma/wire.h"

namespace hat::engine {

class WaitingFrames {
 public:
  bool empty() const { return frames_.empty(); }
  size_t size() const { return frames_.size(); }
  // Returns how many bytes wait: copied payloads, and an envelope for each frame.
  size_t bytes() const { return bytes_.size() - begin_ + frames_.size() * sizeof(Envelope); }

  // Appends a frame. Its payload is `pieces`, or *borrowed if `borrowed` is not null.
  void push_back(const FrameHeader& header, std::span<const Bytes> pieces,
                 const BorrowedRange* borrowed) {
    if (begin_ > bytes_.size() / 2) {
      bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<ptrdiff_t>(begin_));
      begin_ = 0;
    }
    for (const Bytes piece : pieces) bytes_.insert(bytes_.end(), piece.begin(), piece.end());
    frames_.push_back({header, borrowed == nullptr ? std::nullopt : std::optional(*borrowed)});
  }

  // Returns the header of the first frame. The results of header(), borrowed() and copied() are
  // valid until a frame is appended or removed.
  const FrameHeader& header() const { return frames_.front().header; }
  const BorrowedRange* borrowed() const {
    const auto& range = frames_.front().borrowed;
    return range ? &*range : nullptr;
  }
  // Returns the copied payload of the first frame; empty if the payload is a borrowed range.
  Bytes copied() const {
    const size_t count = borrowed() == nullptr ? header().payload_bytes : 0;
    DCHECK_LE(count, bytes_.size() - begin_) << "a waiting frame has lost its payload";
    return {bytes_.data() + begin_, count};
  }
  void pop_front() {
    begin_ += copied().size();
    frames_.pop_front();
    DCHECK(!frames_.empty() || begin_ == bytes_.size()) << "bytes wait that are of no frame";
  }

 private:
  struct Frame {
    FrameHeader header;
    std::optional<BorrowedRange> borrowed;  // the payload; nullopt if the payload is in bytes_
  };
  Fifo<Frame> frames_;
  std::vector<std::byte> bytes_;
  // The offset in bytes_ of the first frame's payload; bytes before it are no longer needed.
  size_t begin_ = 0;
};

}  // namespace hat::engine
