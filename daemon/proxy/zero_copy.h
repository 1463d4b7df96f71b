// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/zero_copy.h: ranges of an application's ring that RDMA lanes send from without a
// copy.
//
// A BulkSender belongs to one stream. It registers the stream's memory with the lane's fabric at
// the first zero-copy send. A BorrowedRanges object belongs to one link. It has the ranges that
// the link's lanes have borrowed and still use. Either object may end first: the memory stays
// mapped and registered while a lane has borrowed any range of it.
//
// Only this daemon's device can address that memory. Its owner, the application, may change it at
// any time; a lane copies the bytes if such a change would matter (engine/rdma/rdma_lane.h,
// send_zero_copy()).
//
// Thread   the worker's.
#pragma once

#include <memory>
#include <vector>

#include "base/check.h"
#include "base/reactor.h"
#include "daemon/metrics/counters.h"
#include "engine/fabric/fabric.h"
#include "engine/memory/borrowed_range.h"
#include "engine/rdma/rdma_lane.h"

namespace hat {

// The memory of one stream while it is registered with a fabric.
struct BorrowedMemory {
  ByteStream* stream;  // null: the stream has ended
  std::shared_ptr<engine::Fabric> fabric;
  std::shared_ptr<const std::span<std::byte>> memory;
  std::unique_ptr<engine::MemoryRegion> region;
};

class BorrowedRanges {
 public:
  void add(uint32_t lane, uint64_t frame, std::shared_ptr<BorrowedMemory> memory,
           uint64_t borrowed) {
    ranges_.push_back({lane, frame, borrowed, std::move(memory)});
  }
  void returned(uint32_t lane, uint64_t frame);
  void lane_gone(uint32_t lane);

 private:
  struct Range {
    uint32_t lane;
    uint64_t frame;
    uint64_t borrowed;  // the number that ByteStream::borrow() returned
    std::shared_ptr<BorrowedMemory> memory;
  };
  static void give_back(const Range& range);

  std::vector<Range> ranges_;  // few: their bytes fit into the rings
};

// A lane that may send from a stream's memory, and the ranges that its link has borrowed.
struct BulkLane {
  engine::RdmaLane& lane;
  uint32_t number;
  const std::shared_ptr<engine::Fabric>& fabric;
  BorrowedRanges& borrowed_ranges;
};

// Passes the inside of large messages on in place, instead of copying it out of the stream. Both
// directions use it: requests from an application, and replies from a server.
class BulkSender {
 public:
  // Copying fewer bytes than this costs less than a zero-copy send.
  static constexpr size_t kBytesMin = 4096;

  // Counts the bytes that are sent without a copy in `bytes_sent`.
  explicit BulkSender(Counter& bytes_sent) : bytes_sent_(bytes_sent) {}
  ~BulkSender() { end(); }
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

  // Calls `take` with the bytes at the front of `stream` that no code examines and that may be sent
  // now, in one piece, and then removes them from the stream. There are at most `unexamined` and at
  // most `budget` of them. Returns false, without a call, if they are too few to be worth a
  // zero-copy send.
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
  // Sends the frame with `bytes`, all bytes that a running pass() offers, and borrows them from the
  // stream. Returns false if it has done nothing, because pass() is not running or the memory
  // cannot be registered; the caller then copies the bytes.
  bool send(ByteStream& stream, const BulkLane& to, const engine::FrameHeader& header,
            std::span<const std::byte> bytes);
  void end();  // the stream has ended

 private:
  // kIdle ──pass()──▶ kOffered ──send()──▶ kBorrowed ──▶ kIdle; without send(), from kOffered to
  // kIdle
  enum class State : uint8_t { kIdle, kOffered, kBorrowed };
  static std::span<const std::byte> bulk(ByteStream& stream, uint64_t unexamined, size_t budget);
  bool prepare(const std::shared_ptr<engine::Fabric>& fabric, ByteStream& stream);

  Counter& bytes_sent_;
  State state_ = State::kIdle;
  bool refused_ = false;  // the fabric has refused the memory; it is not asked again
  std::shared_ptr<BorrowedMemory> memory_;
};

}  // namespace hat
