// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/inbound/opened_streams.h: which streams a peer has opened on a link. A stream that
// the peer has not opened has delivered nothing, although the peer may have sent its first frames:
// they were lost with their RDMA lane.
//
// Memory   a bit for each of the newest kWindow numbers; nothing is known of older ones.
// Thread   the worker's.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace hat {

class OpenedStreams {
 public:
  static constexpr uint32_t kWindow = 2048;

  // Records that the peer has opened the stream with this number.
  void note(uint32_t stream) {
    if (stream > newest_) {
      if (stream - newest_ >= kWindow) opened_.reset();
      // Clears the bits of the numbers that enter the window.
      for (uint32_t i = stream - newest_ < kWindow ? newest_ + 1 : stream; i < stream; ++i) {
        opened_.reset(i % kWindow);
      }
      newest_ = stream;
    }
    if (is_in_window(stream)) opened_.set(stream % kWindow);
  }
  // Returns false if the peer certainly has not opened the stream with this number.
  bool may_have(uint32_t stream) const {
    if (stream > newest_) return false;
    return !is_in_window(stream) || opened_.test(stream % kWindow);
  }

 private:
  bool is_in_window(uint32_t stream) const { return newest_ - stream < kWindow; }

  uint32_t newest_ = 0;
  std::bitset<kWindow> opened_;
};

}  // namespace hat
