// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/sent_frames.h"

#include <utility>

#include "daemon/proxy/worker.h"

namespace hat {

using engine::FrameHeader;
using engine::FrameKind;

bool SentFrames::needs_sync() const {
  return sync_ == 0 && used_ > worker_.node().limits.retry_request_bytes_max / 2;
}

void SentFrames::add(const FrameHeader& header, std::initializer_list<Bytes> payload,
                     uint64_t shown_by) {
  const uint64_t most = worker_.node().limits.retry_request_bytes_max;
  if (most == 0) return clear();  // no copies are wanted, so no frame counts as not kept
  Kept kept{header, shown_by};
  size_t bytes = 0;
  for (const Bytes part : payload) bytes += part.size();
  kept.header.payload_bytes = static_cast<uint32_t>(bytes);
  bytes += used_ + sizeof kept;
  if (bytes > most || !make_space(bytes)) {
    clear();
    worker_.counters().rdma.frames_not_kept.add();
    return;
  }
  ++count_;
  put(std::as_bytes(std::span(&kept, 1)));
  for (const Bytes part : payload) put(part);
  if (header.kind == FrameKind::kSync) sync_ = header.call;
}

// Takes memory for `bytes` bytes, which are at most limits.retry_request. Returns false if half of
// limits.max_buffered is used.
bool SentFrames::make_space(size_t bytes) {
  if (bytes <= memory_.size()) return true;
  if (!worker_.has_space_for_copies()) return false;
  const size_t before = memory_.size();
  const size_t most = worker_.node().limits.retry_request_bytes_max;
  if (memory_.empty()) memory_ = worker_.frame_buffers().take(most);
  if (bytes > memory_.size()) {
    const size_t wanted = std::max({bytes, 2 * memory_.size(), FrameBuffers::kBytesMin});
    FrameBuffers::Memory larger(std::min(wanted, most));
    const auto frames = stored(0, used_);
    std::ranges::copy(frames[1], std::ranges::copy(frames[0], larger.begin()).out);
    memory_ = std::move(larger);
    begin_ = 0;
  }
  worker_.buffered(static_cast<int64_t>(memory_.size() - before));
  return true;
}

void SentFrames::put(Bytes bytes) {
  const size_t at = place(used_);
  used_ += bytes.size();
  DCHECK_LE(used_, memory_.size());
  const Bytes first = bytes.first(std::min(bytes.size(), memory_.size() - at));
  std::ranges::copy(first, memory_.begin() + static_cast<std::ptrdiff_t>(at));
  std::ranges::copy(bytes.subspan(first.size()), memory_.begin());
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
  begin_ = place(bytes);
  used_ -= bytes;
  --count_;
}

void SentFrames::forget() {
  worker_.buffered(-static_cast<int64_t>(memory_.size()));
  worker_.frame_buffers().give_back(std::exchange(memory_, {}));
  count_ = 0;
  sync_ = 0;
  begin_ = 0;
  used_ = 0;
}

}  // namespace hat
