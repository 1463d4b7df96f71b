// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/sent_frames.h: copies of the frames that a stream has sent on RDMA lanes
// and that the peer may not have received. If the lane is lost, the stream sends those that were
// lost again, over TCP (docs/link.md, "A stream that resumes").
//
// The copies are the newest frames without a gap: clear() is called for a frame that is not kept.
//
// Bounds   limits.retry_request bytes for each stream, which count towards limits.max_buffered; no
//          frame is kept while half of max_buffered is used. The bytes of the copies count, and not
//          the memory in which they are: a queue that grows while it is used can be larger.
// Memory   An object without frames has none: FrameBuffers lends the memory. So calls allocate
//          nothing while at most FrameBuffers::kFreeMax streams have frames; the memory of further
//          streams is allocated when they send and freed when they have their answers.
// Thread   the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <span>
#include <utility>
#include <vector>

#include "base/byte_queue.h"
#include "base/check.h"
#include "engine/frame.h"

namespace hat {

class Worker;

// Memory of a worker for the copies of sent frames. Keeps at most kFreeMax queues for reuse.
class FrameBuffers {
 public:
  static constexpr size_t kFreeMax = 64;
  // The memory that a queue in reserve keeps: twice the default of limits.retry_request.
  static constexpr size_t kKeepBytes = 32 * 1024;

  // Returns an empty queue.
  ByteQueue take() {
    if (free_.empty()) return ByteQueue(kKeepBytes);
    ByteQueue taken = std::move(free_.back());
    free_.pop_back();
    return taken;
  }
  void give_back(ByteQueue&& queue) {
    queue.clear();
    if (free_.size() < kFreeMax) free_.push_back(std::move(queue));
  }

 private:
  std::vector<ByteQueue> free_;
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
  // Calls `send` with the header and the payload of each of the newest `lost` frames, in the order
  // in which they were sent, and drops all frames. At least `lost` frames must be kept.
  void send_again(uint64_t lost, const auto& send) {
    DCHECK_LE(lost, count_);
    while (count_ > lost) drop_front();
    for (; count_ != 0; drop_front()) {
      const Kept kept = front();
      send(kept.header, queue_.bytes().subspan(sizeof kept, kept.header.payload_bytes));
    }
  }

 private:
  // Precedes the payload of each frame in `queue_`.
  struct Kept {
    engine::FrameHeader header;
    uint64_t shown_by;
  };

  Kept front() const {
    Kept kept;
    std::memcpy(&kept, queue_.bytes().data(), sizeof kept);
    return kept;
  }
  void drop_front();
  void forget();

  Worker& worker_;
  uint64_t count_ = 0;
  uint64_t sync_ = 0;  // the number of the newest kept kSync frame; 0: none
  ByteQueue queue_{0};
};

}  // namespace hat
