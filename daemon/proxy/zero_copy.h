// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/zero_copy.h: ranges of an application's ring that RDMA lanes send from without a
// copy.
//
// A BulkSender belongs to one byte stream. The BulkSender registers the byte stream's memory in the
// protection domain of a link at the first zero-copy send over this link (registrations.h). A
// BorrowedRanges object belongs to one link and lists the ranges that the link's lanes have
// borrowed and still use. The two objects can be destroyed in any order, because the memory stays
// mapped and registered while a lane has borrowed any range of it.
//
// The application can change the bytes at any time; a lane copies the bytes if such a change would
// matter (engine/rdma/rdma_lane.h, send_zero_copy()).
//
// Thread   the worker's.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/check.h"
#include "base/reactor.h"
#include "daemon/metrics/counters.h"
#include "daemon/proxy/registrations.h"
#include "daemon/proxy/unit_reader.h"
#include "engine/memory/borrowed_range.h"
#include "engine/rdma/rdma_lane.h"

namespace hat {

// The ranges that the RDMA lanes of one link have borrowed.
class BorrowedRanges {
 public:
  // Records that the lane borrows a range of `memory` for the frame with this number. `borrowed` is
  // the number that ByteStream::borrow() returned for the range.
  void add(uint32_t lane, uint64_t frame, std::shared_ptr<BorrowedMemory> memory,
           uint64_t borrowed) {
    ranges_.push_back({lane, frame, borrowed, std::move(memory)});
  }
  // Gives the range of this frame back to its byte stream, because the lane has sent the range.
  void returned(uint32_t lane, uint64_t frame);
  // Gives all ranges of this lane back to their byte streams, because the lane is gone.
  void lane_gone(uint32_t lane);

 private:
  struct Range {
    uint32_t lane;
    uint64_t frame;
    uint64_t borrowed;  // the number that ByteStream::borrow() returned
    std::shared_ptr<BorrowedMemory> memory;
  };
  static void give_back(const Range& range);

  std::vector<Range> ranges_;  // few, because all of them together fit into the rings
};

// An RDMA lane for a zero-copy send, its number, and the memory and borrowed ranges of its link.
struct BulkLane {
  engine::RdmaLane& lane;
  uint32_t number;
  LinkMemory memory;
  BorrowedRanges& borrowed_ranges;
};

// Sends the bytes inside large messages directly from a byte stream's memory, without a copy. The
// client's side uses a BulkSender for requests, and the server's side uses one for replies.
class BulkSender {
 public:
  // Copying fewer bytes than this costs less than a zero-copy send.
  static constexpr size_t kBytesMin = 4096;
  // If the bytes of the stream need more than one frame, bytes_to_copy() lets the caller read only
  // kStartBytes of them. These contain the heads of nearly all messages.
  static constexpr size_t kLargeBytesMin = engine::kPieceBytesMax + 1;
  static constexpr size_t kStartBytes = 2048;

  // Begins with no memory registered. Each send() adds its number of bytes to `bytes_sent`.
  explicit BulkSender(Counter& bytes_sent) : bytes_sent_(bytes_sent) {}

  // Calls `take` once with bytes at the front of `stream`, and then removes these bytes from
  // `stream`. Their number is at most `unexamined` (the bytes that need no parsing) and at most
  // `budget` (the bytes that may be sent now). Returns false, and does not call `take`, if fewer
  // than kBytesMin bytes qualify.
  template <class Take>
  bool pass(ByteStream& stream, uint64_t unexamined, size_t budget, Take take) {
    const auto bytes = bulk(stream, unexamined, budget);
    if (bytes.empty()) return false;
    DCHECK(state_ == State::kIdle) << "the bytes that another call of pass() offers";
    state_ = State::kOffered;
    take(bytes);
    if (state_ == State::kOffered) stream.take(bytes.size());
    state_ = State::kIdle;
    return true;
  }
  // Returns how many bytes, at most `budget`, the caller should read from `stream` into its own
  // memory, because pass() has offered none. Between two units, this is only the start of a large
  // message, so that most of the message can leave without a copy.
  static size_t bytes_to_copy(ByteStream& stream, const UnitReader& reader, size_t budget) {
    const bool starts_large =
        !reader.inside_unit() && !reader.opaque() && stream.peek().size() >= kLargeBytesMin;
    return starts_large ? std::min(budget, kStartBytes) : budget;
  }
  // Sends a frame with `bytes` without a copy, and borrows `bytes` from `stream`. The `take`
  // function of pass() calls this with all bytes that `take` was given. Returns false if nothing
  // was sent, because pass() is not running, `bytes` are fewer than kBytesMin, or the memory cannot
  // be registered; the caller then sends a copy of the bytes.
  bool send(ByteStream& stream, const BulkLane& to, const engine::FrameHeader& header,
            std::span<const std::byte> bytes);
  // Forgets the byte stream and its memory, because the byte stream ends.
  void end() { memory_.end(); }

 private:
  // kIdle ──pass()──▶ kOffered ──send()──▶ kBorrowed ──▶ kIdle
  //                       └───pass() ends without send()───▶ kIdle
  enum class State : uint8_t { kIdle, kOffered, kBorrowed };
  static std::span<const std::byte> bulk(ByteStream& stream, uint64_t unexamined, size_t budget);

  Counter& bytes_sent_;
  State state_ = State::kIdle;
  RegisteredMemory memory_{RegisteredMemory::Part::kBytes};
};

}  // namespace hat
