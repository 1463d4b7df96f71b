// SPDX-License-Identifier: Apache-2.0
// daemon/proxy/outbound/kept_request.h: a copy of the request of a client connection's only
// unanswered call, so that the daemon can send the call again, to another peer.
//
//   kNone ──begin()──▶ kPart ──add()──▶ kWhole ──send_again()──▶ kAgain ──sent()──▶ kWhole
// Every state changes to kNone with drop(), and kPart also with add(), if there is no space.
//
// Bounds   limits.retry_request bytes, which count towards limits.max_buffered; a larger request is
//          not kept, nor is any request while half of max_buffered is used
// Thread   the worker's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/byte_queue.h"
#include "base/check.h"

namespace hat {

class Worker;

class KeptRequest {
 public:
  explicit KeptRequest(Worker& worker) : worker_(worker) {}
  ~KeptRequest() { drop(); }
  KeptRequest(const KeptRequest&) = delete;
  KeptRequest& operator=(const KeptRequest&) = delete;

  // Begins to keep a request. `idempotent`: servers may receive the call more than once.
  void begin(bool idempotent) {
    drop();
    state_ = State::kPart;
    idempotent_ = idempotent;
    attempts_ = 1;
  }
  // Adds the next bytes of the request if it is kept. `last`: the request ends with `piece`.
  void add(std::span<const std::byte> piece, bool last) {
    if (state_ == State::kPart) append(piece, last);
  }
  void drop() {
    if (state_ != State::kNone) forget();
  }

  bool is_whole() const { return state_ == State::kWhole; }
  // Returns true if the request waits to be sent again.
  bool waits() const { return state_ == State::kAgain; }
  bool idempotent() const { return idempotent_; }
  // Returns how often the request was sent, or is about to be sent.
  uint32_t attempts() const { return attempts_; }
  std::span<const std::byte> bytes() const { return bytes_.bytes(); }

  void send_again() {
    DCHECK(is_whole());
    state_ = State::kAgain;
    ++attempts_;
  }
  void sent() {
    DCHECK(waits());
    state_ = State::kWhole;
  }

 private:
  enum class State : uint8_t {
    kNone,   // no request is kept
    kPart,   // the end of the request has not arrived
    kWhole,  // the request was sent
    kAgain,
  };
  // The memory that a connection without a kept request keeps for the next one.
  static constexpr size_t kKeepBytes = 4096;

  void append(std::span<const std::byte> piece, bool last);
  void forget();

  Worker& worker_;
  State state_ = State::kNone;
  bool idempotent_ = false;
  uint32_t attempts_ = 0;
  ByteQueue bytes_{kKeepBytes};
};

}  // namespace hat
