// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/outbound/kept_request.h"

#include "daemon/proxy/worker.h"

namespace hat {

void KeptRequest::append(std::span<const std::byte> piece, bool last) {
  if (bytes_.size() + piece.size() > worker_.node().limits.retry_request_bytes_max ||
      !worker_.has_space_for_copies()) {
    return forget();
  }
  worker_.buffered(static_cast<int64_t>(piece.size()));
  bytes_.append(piece);
  if (last) state_ = State::kWhole;
}

void KeptRequest::forget() {
  worker_.buffered(-static_cast<int64_t>(bytes_.size()));
  bytes_.clear();
  state_ = State::kNone;
}

}  // namespace hat
