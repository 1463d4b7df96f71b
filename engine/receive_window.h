// SPDX-License-Identifier: Apache-2.0
// engine/receive_window.h: the receiving side of a stream's credit: what came, and what is granted
// again once it was passed on.
//
// Bounds   a sender spends a byte of credit for each byte of a message. It may overrun by what it
//          had read before it knew whose it was, which is less than a second window: whoever
//          passes that would fill this host's memory.
// Thread   none of its own.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "engine/frame.h"

namespace hat::engine {

class ReceiveWindow {
 public:
  static constexpr size_t kOutstandingBytesMax = 2 * kStreamWindowBytes;

  // Bytes came. False: more than any sender of ours would send; end the stream.
  bool take(size_t bytes) {
    outstanding_ += bytes;
    return outstanding_ <= kOutstandingBytesMax;
  }
  // Bytes that came are somebody else's now.
  void pass_on(size_t bytes) { passed_on_ += bytes; }
  // Enough to be granted in a frame of its own.
  bool worth_a_frame() const { return passed_on_ >= kStreamWindowBytes / 2; }
  // What the next frame's header grants.
  uint32_t grant() {
    outstanding_ -= passed_on_;
    return static_cast<uint32_t>(std::exchange(passed_on_, 0));
  }

 private:
  size_t outstanding_ = 0;  // came and not yet granted again
  size_t passed_on_ = 0;    // of them, what the next grant covers
};

}  // namespace hat::engine
