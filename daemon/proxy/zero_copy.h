// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/zero_copy.h: ranges of an application's ring that RDMA lanes send from without a
// copy.
//
// A ZeroCopySender belongs to one stream. It registers the stream's memory with the lane's fabric
// at the first zero-copy send. A BorrowedRanges object belongs to one link. It has the ranges that
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

#include "base/reactor.h"
#include "engine/fabric/fabric.h"
#include "engine/memory/registration_cache.h"
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

class ZeroCopySender {
 public:
  // Copying fewer bytes than this costs less than a zero-copy send.
  static constexpr size_t kBytesMin = 4096;

  ~ZeroCopySender() { end(); }
  // Returns the bytes at the front of `stream` that no code examines and that may be sent now, in
  // one piece. There are at most `unexamined` and at most `budget` of them. Returns an empty span
  // if they are too few to be worth a zero-copy send.
  static std::span<const std::byte> bulk(ByteStream& stream, uint64_t unexamined, size_t budget);
  // Sends the frame with `bytes`, which are at the front of ByteStream::peek(), and borrows them
  // from the stream. Returns false if it has done nothing; the caller then copies the bytes.
  bool send(const std::shared_ptr<engine::Fabric>& fabric, ByteStream& stream,
            engine::RdmaLane& lane, uint32_t lane_number, BorrowedRanges& borrowed_ranges,
            const engine::FrameHeader& header, std::span<const std::byte> bytes);
  void end();  // the stream has ended

 private:
  bool prepare(const std::shared_ptr<engine::Fabric>& fabric, ByteStream& stream);

  bool refused_ = false;
  std::shared_ptr<BorrowedMemory> memory_;
};

}  // namespace hat
