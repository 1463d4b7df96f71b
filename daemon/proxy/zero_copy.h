// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/zero_copy.h: ranges of an application's ring that RDMA lanes send from without a
// copy.
//
// A BulkSender belongs to one byte stream. The BulkSender registers the byte stream's memory in the
// protection domain of a link (Fabric) at the first zero-copy send over this link. So the memory of
// a server's byte stream, whose replies go over several links, has a registration for each of them.
// A BorrowedRanges object belongs to one link. It holds the registrations in the link's domain, and
// lists the ranges that the link's lanes have borrowed and still use.
//
// A registration ends when the byte stream ends or when the link's domain ends, which is some
// seconds after the end of the link's last lane. It lasts longer while a lane has borrowed any
// range of the memory; the memory then also stays mapped. The two objects can be destroyed in any
// order.
//
// The fabric registers the memory for this daemon's own RDMA device only, so peers cannot access
// the memory. The application can change the bytes at any time; a lane copies the bytes if such a
// change would matter (engine/rdma/rdma_lane.h, send_zero_copy()).
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

class BorrowedRanges;

// The memory of one byte stream while the memory is registered with the fabric of a link.
struct BorrowedMemory {
  ByteStream* stream;      // null: the byte stream has ended
  BorrowedRanges* ranges;  // of the link; null: the link's domain has ended
  std::shared_ptr<engine::Fabric> fabric;
  std::shared_ptr<const std::span<std::byte>> memory;
  std::unique_ptr<engine::MemoryRegion> region;
};

// The memory that is registered in the domain of one link, and the ranges of this memory that the
// link's RDMA lanes have borrowed.
class BorrowedRanges {
 public:
  BorrowedRanges() = default;
  ~BorrowedRanges() { domain_gone(); }
  BorrowedRanges(const BorrowedRanges&) = delete;
  BorrowedRanges& operator=(const BorrowedRanges&) = delete;

  // Registers the stream's memory with `fabric`, the fabric of the link's lanes. The registration
  // lasts until forget() or domain_gone().
  Result<std::shared_ptr<BorrowedMemory>> register_memory(
      ByteStream& stream, const std::shared_ptr<engine::Fabric>& fabric);
  // Ends the registration, because the byte stream has ended.
  void forget(const BorrowedMemory& memory);
  // Ends all registrations, because the link has no domain any more.
  void domain_gone();
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
  std::vector<std::shared_ptr<BorrowedMemory>> registered_;
};

// An RDMA lane for a zero-copy send, its number and fabric, and the borrowed ranges of its link.
struct BulkLane {
  engine::RdmaLane& lane;
  uint32_t number;
  const std::shared_ptr<engine::Fabric>& fabric;
  BorrowedRanges& borrowed_ranges;
};

// Sends the bytes inside large messages directly from a byte stream's memory, without a copy. The
// client's side uses a BulkSender for requests, and the server's side uses one for replies.
class BulkSender {
 public:
  // Copying fewer bytes than this costs less than a zero-copy send.
  static constexpr size_t kBytesMin = 4096;

  // Begins with no memory registered. Each send() adds its number of bytes to `bytes_sent`.
  explicit BulkSender(Counter& bytes_sent) : bytes_sent_(bytes_sent) {}
  ~BulkSender() { end(); }
  BulkSender(const BulkSender&) = delete;
  BulkSender& operator=(const BulkSender&) = delete;

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
  // Sends a frame with `bytes` without a copy, and borrows `bytes` from `stream`. The `take`
  // function of pass() calls this with all bytes that `take` was given. Returns false if nothing
  // was sent, because pass() is not running, `bytes` are fewer than kBytesMin, or the memory cannot
  // be registered; the caller then sends a copy of the bytes.
  bool send(ByteStream& stream, const BulkLane& to, const engine::FrameHeader& header,
            std::span<const std::byte> bytes);
  // Forgets the byte stream and its memory, because the byte stream ends.
  void end();

 private:
  // kIdle ──pass()──▶ kOffered ──send()──▶ kBorrowed ──▶ kIdle
  //                       └───pass() ends without send()───▶ kIdle
  enum class State : uint8_t { kIdle, kOffered, kBorrowed };
  static std::span<const std::byte> bulk(ByteStream& stream, uint64_t unexamined, size_t budget);
  std::shared_ptr<BorrowedMemory> memory_for(const BulkLane& to, ByteStream& stream);

  Counter& bytes_sent_;
  State state_ = State::kIdle;
  bool refused_ = false;  // the fabric has refused to register the memory; send() does not retry
  // The registrations, of which each belongs to another link. Expired: the link's domain has ended.
  std::vector<std::weak_ptr<BorrowedMemory>> memories_;
};

}  // namespace hat
