// SPDX-License-Identifier: Apache-2.0
// engine/receive_window.h: the receiving side of a stream's credit: the bytes that arrived, and the
// credit to grant again after they were passed on.
//
// Bounds   A sender spends one byte of credit for each byte of a message. It may exceed its credit
//          by bytes that it had read before it knew which stream they belong to; these are less
//          than a second window. A sender that exceeds that would fill this host's memory.
// Thread   none of its own.
// Always   passed_on_ <= outstanding_
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/check.h"
#include "engine/frame.h"

namespace hat::engine {

class ReceiveWindow {
 public:
  static constexpr size_t kOutstandingBytesMax = 2 * kStreamWindowBytes;

  // Counts bytes that arrived. Returns false if they are more than any of our senders would send;
  // the caller then ends the stream.
  bool take(size_t bytes) {
    outstanding_ += bytes;
    return outstanding_ <= kOutstandingBytesMax;
  }
  // Counts bytes that arrived and that this side has passed on.
  void pass_on(size_t bytes) {
    passed_on_ += bytes;
    DCHECK_LE(passed_on_, outstanding_) << "more was passed on than has arrived";
  }
  // Returns true if enough was passed on to grant it in a frame of its own.
  bool worth_a_frame() const { return passed_on_ >= kStreamWindowBytes / 2; }
  // Returns the credit for the next frame's header, and counts it as granted.
  uint32_t grant() {
    outstanding_ -= passed_on_;
    return static_cast<uint32_t>(std::exchange(passed_on_, 0));
  }

 private:
  size_t outstanding_ = 0;  // arrived and not yet granted again
  size_t passed_on_ = 0;    // the part of them that the next grant covers
};

}  // namespace hat::engine
