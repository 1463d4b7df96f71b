// SPDX-License-Identifier: Apache-2.0
// engine/receive_window.h: counts the credit of a stream on the receiving side. Credit is the
// number of bytes that the sender may send on the stream. The receiver grants credit again for
// bytes that it has passed on to the client or the server. An application on a ring gets no more
// bytes than its ring has space for: credit for bytes that it has not read is withheld.
//
// Bounds   A sender spends one byte of credit for each byte of a message. The sender may exceed its
//          credit by bytes that it had read before it knew to which stream the bytes belong; these
//          are fewer than kStreamWindowBytes. The receiver ends the stream of a sender that exceeds
//          this bound, because the sender could fill the memory of this host.
// Thread   One thread at a time; there is no lock.
// Always   passed_on_ <= outstanding_
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/check.h"
#include "engine/frame.h"

namespace hat::engine {

class ReceiveWindow {
 public:
  static constexpr size_t kOutstandingBytesMax = 2 * kStreamWindowBytes;

  // Counts `bytes` that arrived. Returns false if more bytes are outstanding than a correct sender
  // would ever send; the caller then ends the stream.
  bool take(size_t bytes) {
    outstanding_ += bytes;
    return outstanding_ <= kOutstandingBytesMax;
  }
  // Counts `bytes` that arrived earlier and that this side has now passed on.
  void pass_on(size_t bytes) {
    passed_on_ += bytes;
    DCHECK_LE(passed_on_, outstanding_) << "more was passed on than has arrived";
  }
  // Sets how many of the bytes that were passed on get no credit for now, because the application
  // has not read them, and further bytes would find no space.
  void withhold(size_t bytes) { withheld_ = bytes; }
  // Returns true if more than a quarter of the window is withheld. The caller should then find out,
  // before the next grant(), whether the application has read the bytes.
  bool withholds_much() const { return withheld_ > kStreamWindowBytes / 4; }
  // Returns true if enough bytes were passed on that the caller should send their credit now, in a
  // separate kCredit frame, and not wait for another frame that can carry the credit. If credit is
  // withheld, a quarter of the window is enough when the sender has little credit left: else the
  // sender could wait for ever.
  bool worth_a_frame() const {
    const bool is_short = withheld_ != 0 && outstanding_ >= kStreamWindowBytes * 3 / 4;
    return grantable() >= (is_short ? kStreamWindowBytes / 4 : kStreamWindowBytes / 2);
  }
  // Returns the credit to put into the header of the next frame, and counts this credit as granted.
  uint32_t grant() {
    const size_t credit = grantable();
    outstanding_ -= credit;
    passed_on_ -= credit;
    return static_cast<uint32_t>(credit);
  }

 private:
  size_t grantable() const { return passed_on_ - std::min(passed_on_, withheld_); }

  size_t outstanding_ = 0;  // bytes that arrived and for which no credit was granted again
  size_t passed_on_ = 0;    // the part of `outstanding_` for which no credit was granted again
  size_t withheld_ = 0;     // the part of `passed_on_` that gets no credit for now
};

}  // namespace hat::engine
