// SPDX-License-Identifier: Apache-2.0
// daemon/request_guard.h: reads a request's own bytes, to see that all in it may be called.
//
// The peer daemon says which function a request is for, and its word chooses the hints. Where there
// are rules of who may call what (`allow` in manifests), its word is not enough: a peer that lies,
// or a frame with a second message in it, must not get past them.
//
// A message is refused before its last byte is passed on, so no server has executed it.
//
// Thread   the worker's.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "daemon/thrift/message_reader.h"

namespace hat {

class RequestGuard {
 public:
  // A request begins. What is left of the one before does not count.
  void begin() {
    reader_.emplace();
    has_head_ = ended_ = false;
  }

  // Its next bytes; `last` ends it. False where `may_call(name)` says so of a message's name (as on
  // the wire: "Service:method" where it is multiplexed), and where they are no whole request: no
  // Thrift that can be followed, more than one unit, or less than one.
  template <class MayCall>
  bool passes(std::span<const std::byte> bytes, bool last, const MayCall& may_call) {
    using Met = thrift::MessageReader::Event;
    bool more = !bytes.empty();
    while (more) {
      if (ended_) return false;
      const auto step = reader_->next(bytes);
      bytes = bytes.subspan(step.consumed);
      if (step.event == Met::kOpaque) return false;
      if (step.event == Met::kHead) {
        has_head_ = true;
        if (!may_call(reader_->head().name)) return false;
      }
      ended_ = step.event == Met::kEnd;
      more = !bytes.empty() || step.event == Met::kHead;
    }
    return !last || (ended_ && has_head_);
  }

 private:
  std::optional<thrift::MessageReader> reader_;
  bool has_head_ = false;
  bool ended_ = false;
};

}  // namespace hat
