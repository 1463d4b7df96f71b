// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/stream_delivery.h: whether the peer has taken all that was sent on a stream, so that
// the stream may move to another lane and keep its order.
//
//            send()               answered(), of the last call
//   kTaken ──────────▶ kOut ──────────────────────────────────▶ kTaken
//                       │  send_unanswered()      ask()            synced()
//                       ├──────────────▶ kUnanswered ──────▶ kAsked ────────▶ kTaken
//                       └──────────────────────────────────▶ kAsked
//
// send() leads to kOut from every state, and send_unanswered() to kUnanswered: a kSynced that comes
// later is of what was sent before.
// Thread   the worker's.
#pragma once

#include <glog/logging.h>

#include <cstdint>

namespace hat {

class StreamDelivery {
 public:
  bool all_taken() const { return state_ == State::kTaken; }

  // A piece of that call was sent.
  void send(uint64_t call) {
    state_ = State::kOut;
    last_call_ = call;
  }
  // kCancel or kAttach was sent: only kSynced shows that the peer has taken it.
  void send_unanswered() { state_ = State::kUnanswered; }
  // Returns the number for a kSync, or 0 where one is out already.
  uint64_t ask() {
    if (state_ == State::kAsked) return 0;
    DCHECK(state_ != State::kTaken);
    state_ = State::kAsked;
    return ++last_sync_;
  }

  // The peer has answered the call, all of which was sent.
  void answered(uint64_t call) {
    if (state_ == State::kOut && call == last_call_) state_ = State::kTaken;
  }
  // The kSynced of that number has come.
  void synced(uint64_t number) {
    if (state_ == State::kAsked && number == last_sync_) state_ = State::kTaken;
  }

 private:
  enum class State : uint8_t {
    kTaken,       // or nothing was sent
    kOut,         // the answer to the last call will show that all was taken
    kUnanswered,  // no answer will
    kAsked,       // kSync is out
  };

  State state_ = State::kTaken;
  uint64_t last_call_ = 0;
  uint64_t last_sync_ = 0;
};

}  // namespace hat
