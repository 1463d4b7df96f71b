// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/stream_delivery.h: tracks whether the peer has taken all frames that were sent on a
// stream. Only then can the stream move to another lane: a frame on the new lane could otherwise
// overtake a frame that is still on the old lane.
//
// The peer shows that it has taken all frames by its answer to the last call. Frames that have no
// answer need a kSync frame, which the peer answers with kSynced (engine/frame.h).
//
//            send()               answered(), of the last call
//   kTaken ──────────▶ kOut ──────────────────────────────────▶ kTaken
//                       │  send_unanswered()      ask()            synced()
//                       ├──────────────▶ kUnanswered ──────▶ kAsked ────────▶ kTaken
//                       └──────────────────────────────────▶ kAsked
//
// From every state, send() leads to kOut and send_unanswered() leads to kUnanswered. In kOut and
// kUnanswered, synced() changes nothing, because the kSynced does not cover the newest frame.
//
// Thread   the worker's.
#pragma once

#include <glog/logging.h>

#include <cstdint>

namespace hat {

class StreamDelivery {
 public:
  // Returns true if the peer has taken all frames that were sent.
  bool all_taken() const { return state_ == State::kTaken; }

  // Records that a piece of the request of call number `call` was sent.
  void send(uint64_t call) {
    state_ = State::kOut;
    last_call_ = call;
  }
  // Records that a kCancel or kAttach frame was sent. Only a kSynced frame shows that the peer has
  // taken such a frame.
  void send_unanswered() { state_ = State::kUnanswered; }
  // Returns the number for a kSync frame that the caller must send now. Returns 0 if the last kSync
  // is not answered yet and covers all frames.
  uint64_t ask() {
    if (state_ == State::kAsked) return 0;
    DCHECK(state_ != State::kTaken);
    state_ = State::kAsked;
    return ++last_sync_;
  }

  // Records that the peer has answered call number `call`, whose whole request was sent.
  void answered(uint64_t call) {
    if (state_ == State::kOut && call == last_call_) state_ = State::kTaken;
  }
  // Records that the kSynced frame with this number has arrived.
  void synced(uint64_t number) {
    if (state_ == State::kAsked && number == last_sync_) state_ = State::kTaken;
  }

 private:
  enum class State : uint8_t {
    kTaken,       // the peer has taken all frames, or no frame was sent
    kOut,         // the answer to the last call will show that the peer has taken all frames
    kUnanswered,  // the last frame has no answer, so a kSync must be sent
    kAsked,       // a kSync was sent, and its kSynced has not arrived
  };

  State state_ = State::kTaken;
  uint64_t last_call_ = 0;
  uint64_t last_sync_ = 0;
};

}  // namespace hat
