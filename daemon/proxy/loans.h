// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/loans.h: bytes of an application's ring that RDMA lanes send from where they lie.
//
// A Lender belongs to one stream, and registers its memory with the lane's fabric when first asked;
// Loans belong to a link, and hold what its lanes have borrowed until they are done with it. Either
// may end first: the memory stays mapped and registered as long as anything of it is lent.
//
// Nobody else may address that memory, and its owner may change it at any time: lanes copy it where
// that would matter (engine/rdma/rdma_lane.h, send_lent()).
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

// One stream's memory, while it is registered.
struct LentMemory {
  Stream* stream;  // null: it has ended
  std::shared_ptr<engine::Fabric> fabric;
  std::shared_ptr<const std::span<std::byte>> memory;
  std::unique_ptr<engine::MemoryRegion> region;
};

class Loans {
 public:
  void add(uint32_t lane, uint64_t frame, std::shared_ptr<LentMemory> memory, uint64_t borrowed) {
    loans_.push_back({lane, frame, borrowed, std::move(memory)});
  }
  void returned(uint32_t lane, uint64_t frame);
  void lane_gone(uint32_t lane);

 private:
  struct Loan {
    uint32_t lane;
    uint64_t frame;
    uint64_t borrowed;  // as the stream calls it
    std::shared_ptr<LentMemory> memory;
  };
  static void give_back(const Loan& loan);

  std::vector<Loan> loans_;  // a few: at most what fits the rings
};

class Lender {
 public:
  // Less costs more to lend than to copy.
  static constexpr size_t kBytesMin = 4096;

  ~Lender() { end(); }
  // Of what `stream` shows, the part that nobody looks at and that may go now, as one piece; empty
  // where it is not worth it.
  static std::span<const std::byte> bulk(Stream& stream, uint64_t unexamined, size_t budget);
  // `bytes` are at the front of what `stream` shows. Sends the frame with them, and takes them from
  // the stream. False: nothing was done; copy them.
  bool send(const std::shared_ptr<engine::Fabric>& fabric, Stream& stream, engine::RdmaLane& lane,
            uint32_t lane_number, Loans& loans, const engine::FrameHeader& header,
            std::span<const std::byte> bytes);
  void end();  // the stream ends

 private:
  bool prepare(const std::shared_ptr<engine::Fabric>& fabric, Stream& stream);

  bool refused_ = false;
  std::shared_ptr<LentMemory> memory_;
};

}  // namespace hat
