// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/unit_reader.h"

namespace hat {

using Event = thrift::MessageReader::Event;

bool UnitReader::release_held(UnitSink& sink) {
  if (held_.empty()) return true;
  ByteQueue held;
  std::swap(held, held_);
  return sink.on_piece(held.bytes(), false);
}

void UnitReader::become_opaque(Bytes bytes, UnitSink& sink) {
  opaque_ = true;
  ByteQueue held;
  std::swap(held, held_);
  held.append(bytes);
  sink.on_opaque(held.bytes());
}

size_t UnitReader::feed(Bytes bytes, UnitSink& sink) {
  if (opaque_) return 0;
  size_t unit = 0;  // offset in `bytes` of the first byte that was neither passed on nor held back
  size_t at = 0;
  if (head_known_ && !release_held(sink)) return 0;
  // A Thrift frame can end with the last byte of a message's head. One more call of next(), without
  // bytes, then reports the end of the frame.
  bool more = !bytes.empty() || head_known_;
  while (more) {
    const auto step = reader_.next(bytes.subspan(at));
    at += step.consumed;
    more = at < bytes.size() || step.event == Event::kHead;
    switch (step.event) {
      case Event::kHead:
        head_known_ = true;
        if (!held_.empty()) {  // the first piece gets the whole head
          held_.append(bytes.subspan(unit, at - unit));
          unit = at;
        }
        if (!sink.on_head(reader_.head())) {
          held_.append(bytes.subspan(unit, at - unit));
          return at;
        }
        if (!release_held(sink)) {
          held_.append(bytes.subspan(unit, at - unit));
          return at;
        }
        break;
      case Event::kEnd: {
        head_known_ = false;
        ByteQueue held;  // has bytes only if a frame without a message arrived in pieces
        std::swap(held, held_);
        held.append(bytes.subspan(unit, held.empty() ? 0 : at - unit));
        const Bytes piece = held.empty() ? bytes.subspan(unit, at - unit) : held.bytes();
        unit = at;
        if (!sink.on_piece(piece, true)) return at;
        break;
      }
      case Event::kNeedMore:
        break;  // all of `bytes` was read, so the loop ends
      case Event::kOpaque:
        become_opaque(bytes.subspan(unit), sink);
        return bytes.size();
    }
  }
  if (unit == at) return at;
  const Bytes rest = bytes.subspan(unit, at - unit);
  if (head_known_) {
    sink.on_piece(rest, false);
  } else {
    held_.append(rest);
    if (held_.size() > kHeldBytesMax) become_opaque({}, sink);
  }
  return at;
}

void UnitReader::end(UnitSink& sink) {
  if (!opaque_ && !head_known_ && !held_.empty()) become_opaque({}, sink);
}

}  // namespace hat
