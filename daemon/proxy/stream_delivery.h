// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/stream_delivery.h: tracks whether the peer has taken all that was sent on a stream.
//
// Once the peer has taken everything, the stream may move to another lane and its frames still keep
// their order.
//
//            send()               answered(), of the last call
//   kTaken ──────────▶ kOut ──────────────────────────────────▶ kTaken
//                       │  send_unanswered()      ask()            synced()
//                       ├──────────────▶ kUnanswered ──────▶ kAsked ────────▶ kTaken
//                       └──────────────────────────────────▶ kAsked
//
// send() leads to kOut from every state, and send_unanswered() to kUnanswered. A kSynced that
// arrives after that confirms only what was sent earlier, so it changes nothing.
//
// Thread   the worker's.
#pragma once

#include <glog/logging.h>

#include <cstdint>

namespace hat {

class StreamDelivery {
 public:
  bool all_taken() const { return state_ == State::kTaken; }

  // Records that a piece of `call` was sent.
  void send(uint64_t call) {
    state_ = State::kOut;
    last_call_ = call;
  }
  // Records that kCancel or kAttach was sent. Only kSynced shows that the peer has taken such a
  // frame.
  void send_unanswered() { state_ = State::kUnanswered; }
  // Returns the number for a kSync, or 0 if one has been sent and not answered.
  uint64_t ask() {
    if (state_ == State::kAsked) return 0;
    DCHECK(state_ != State::kTaken);
    state_ = State::kAsked;
    return ++last_sync_;
  }

  // Records that the peer has answered `call`, whose request was sent to its end.
  void answered(uint64_t call) {
    if (state_ == State::kOut && call == last_call_) state_ = State::kTaken;
  }
  // Records that the kSynced with that number has arrived.
  void synced(uint64_t number) {
    if (state_ == State::kAsked && number == last_sync_) state_ = State::kTaken;
  }

 private:
  enum class State : uint8_t {
    kTaken,       // the peer has taken everything, or nothing was sent
    kOut,         // the answer to the last call will show that the peer has taken everything
    kUnanswered,  // no answer will show it
    kAsked,       // kSync was sent
  };

  State state_ = State::kTaken;
  uint64_t last_call_ = 0;
  uint64_t last_sync_ = 0;
};

}  // namespace hat
