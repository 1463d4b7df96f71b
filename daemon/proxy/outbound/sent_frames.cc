// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/sent_frames.h"

#include <utility>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameHeader;
using engine::FrameKind;

bool SentFrames::needs_sync() const {
  return sync_ == 0 && queue_.size() > worker_.node().limits.retry_request_bytes_max / 2;
}

void SentFrames::add(const FrameHeader& header, std::initializer_list<Bytes> payload,
                     uint64_t shown_by) {
  Kept kept{header, shown_by};
  size_t bytes = 0;
  for (const Bytes part : payload) bytes += part.size();
  kept.header.payload_bytes = static_cast<uint32_t>(bytes);
  bytes += sizeof kept;
  if (queue_.size() + bytes > worker_.node().limits.retry_request_bytes_max ||
      !worker_.has_space_for_copies()) {
    clear();
    worker_.counters().rdma.frames_not_kept.add();
    return;
  }
  if (count_++ == 0) queue_ = worker_.frame_buffers().take();
  worker_.buffered(static_cast<int64_t>(bytes));
  queue_.append(std::as_bytes(std::span(&kept, 1)));
  for (const Bytes part : payload) queue_.append(part);
  if (header.kind == FrameKind::kSync) sync_ = header.call;
}

void SentFrames::synced(uint64_t number) {
  if (number == 0 || number != sync_) return;
  // The frames after the kSync frame stay.
  for (bool found = false; !found;) {
    const FrameHeader header = front().header;
    found = header.kind == FrameKind::kSync && header.call == number;
    drop_front();
  }
}

void SentFrames::drop_front() {
  const FrameHeader header = front().header;
  if (header.kind == FrameKind::kSync && header.call == sync_) sync_ = 0;
  if (count_ == 1) return forget();
  const size_t bytes = sizeof(Kept) + header.payload_bytes;
  worker_.buffered(-static_cast<int64_t>(bytes));
  queue_.consume(bytes);
  --count_;
}

void SentFrames::forget() {
  worker_.buffered(-static_cast<int64_t>(queue_.size()));
  worker_.frame_buffers().give_back(std::exchange(queue_, ByteQueue(0)));
  count_ = 0;
  sync_ = 0;
}

}  // namespace hat
