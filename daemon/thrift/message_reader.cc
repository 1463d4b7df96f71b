// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message_reader.cc: reads the parts of a unit (a frame or an unframed message) in
// order: first bytes, THeader's header, the heads and structs of messages, and the end.
#include "daemon/thrift/message_reader.h"

#include <algorithm>

namespace hat::thrift {
namespace {

constexpr size_t kLengthBytes = 4;  // size of a frame's length word

}  // namespace

MessageReader::Step MessageReader::next(std::span<const std::byte> bytes) {
  const auto* begin = reinterpret_cast<const uint8_t*>(bytes.data());
  Cursor in{begin, begin + bytes.size()};
  const Event event = state_ == State::kStart && start_whole(in) ? Event::kHead : advance(in);
  return {static_cast<size_t>(in.at - begin), event};
}

// Reads parts of a unit until an event occurs or the input is used up.
MessageReader::Event MessageReader::advance(Cursor& in) {
  for (;;) {
    if (state_ == State::kOpaque) return Event::kOpaque;
    Event event = Event::kNeedMore;
    if (state_ == State::kStart) {
      if (in.left() == 0) return Event::kNeedMore;
      event = start(in);
    } else {
      Cursor part{in.at, in.at + std::min<uint64_t>(in.left(), frame_left_)};
      const Progress progress = read_part(part);
      const auto taken = static_cast<size_t>(part.at - in.at);
      frame_left_ -= taken;
      head_begun_ |= state_ == State::kHead && taken > 0;
      in.at = part.at;
      switch (progress) {
        case Progress::kNeedMore:
          if (frame_left_ > 0) return Event::kNeedMore;
          event = at_frame_end();
          break;
        case Progress::kDone:
          event = after_part();
          break;
        default:
          event = after_broken(progress);
      }
    }
    if (event != Event::kNeedMore) return event;
  }
}

// Reads the head of a unit in strict binary, if the whole head has arrived: the usual case, for
// which this function is fast. Otherwise returns false and consumes nothing; advance() must then
// read the unit, more slowly.
bool MessageReader::start_whole(Cursor& in) {
  constexpr uint32_t kStrict = 0x8001;
  constexpr size_t kHeadBytesMin = 12;  // size of a head with an empty name
  if (first_size_ > 0 || in.left() < kLengthBytes + kHeadBytesMin) return false;
  const uint8_t* message = in.at;
  uint64_t frame_bytes = kNoFrame;
  if (big_endian16(message) != kStrict) {
    frame_bytes = big_endian32(message);
    message += kLengthBytes;
    if (frame_bytes > kFrameBytesMax || big_endian16(message) != kStrict) return false;
    if (in.at[0] == 0x16) return false;  // can be TLS
  }
  const uint8_t type = message[3];
  const uint32_t name_bytes = big_endian32(message + 4);
  if (type < 1 || type > 4 || name_bytes > kNameBytesMax) return false;
  const size_t head_bytes = kHeadBytesMin + name_bytes;
  const auto come = static_cast<size_t>(in.end - message);
  if (come < head_bytes || frame_bytes < head_bytes) return false;

  const bool framed = frame_bytes != kNoFrame;
  framing_ = framed ? Framing::kFramed : Framing::kUnframed;
  encoding_ = Encoding::kBinary;
  frame_left_ = (framed ? frame_bytes : kNoFrame) - head_bytes;
  understood_ = true;
  frame_bytes_ = framed ? static_cast<uint32_t>(kLengthBytes + frame_bytes) : 0;
  // A copy of fixed size is faster than a copy of the name's size. It can include bytes after the
  // name, which are not used.
  constexpr size_t kUsualNameBytes = 32;
  if (name_bytes <= kUsualNameBytes && come >= 8 + kUsualNameBytes) {
    std::memcpy(name_.data(), message + 8, kUsualNameBytes);
  } else {
    std::memcpy(name_.data(), message + 8, name_bytes);
  }
  head_ = {.framing = framing_,
           .encoding = Encoding::kBinary,
           .type = static_cast<MessageType>(type),
           .seqid = static_cast<int32_t>(big_endian32(message + 8 + name_bytes)),
           .name = {name_.data(), name_bytes},
           .frame_bytes = frame_bytes_};
  in.at = message + head_bytes;
  begin_body();
  return true;
}

MessageReader::Event MessageReader::start(Cursor& in) {
  if (first_size_ == 0 && in.left() >= kDecisiveBytesMax) {
    const uint8_t* first = in.at;
    const auto found = classify({first, kDecisiveBytesMax});
    in.at += length_bytes(found.framing);
    return begin_unit(found, first);
  }
  while (in.left() > 0) {
    first_[first_size_++] = *in.at++;
    const auto found = classify({first_.data(), first_size_});
    if (found.kind == Classification::Kind::kUndecided) continue;
    Cursor again{first_.data() + length_bytes(found.framing), first_.data() + first_size_};
    first_size_ = 0;
    const Event event = begin_unit(found, first_.data());
    // Reads the stored first bytes again. They never contain the end of the unit.
    return event == Event::kNeedMore ? advance(again) : event;
  }
  return Event::kNeedMore;
}

MessageReader::Event MessageReader::begin_unit(const Classification& found, const uint8_t* first) {
  using Form = Classification::Kind;
  if (found.kind == Form::kOpaque) return become_opaque(found.opaque_reason);
  if (found.kind == Form::kEmptyFrame) return end_unit();
  framing_ = found.framing;
  frame_left_ = kNoFrame;
  frame_bytes_ = 0;
  unit_has_head_ = false;
  understood_ = true;
  if (framing_ != Framing::kUnframed) {
    frame_bytes_ = static_cast<uint32_t>(kLengthBytes + big_endian32(first));
    frame_left_ = frame_bytes_ - length_bytes(framing_);
  }
  if (has_header(framing_)) {
    state_ = State::kHeader;
    header_.begin(static_cast<uint32_t>(frame_left_));
  } else {
    begin_head(found.encoding);
  }
  return Event::kNeedMore;
}

Progress MessageReader::read_part(Cursor& in) {
  switch (state_) {
    case State::kHeader:
      return header_.read(in);
    case State::kHead:
      return head_reader_.read(in);
    case State::kBody:
      switch (encoding_) {
        case Encoding::kBinary:
        case Encoding::kBinaryOld:
          return binary_.walk(in);
        case Encoding::kCompact:
          return compact_.walk(in);
        case Encoding::kJson:
          return json_.walk(in);
      }
      break;
    default:
      break;
  }
  in.at = in.end;  // State::kFrameRest: skips all bytes
  return Progress::kNeedMore;
}

MessageReader::Event MessageReader::at_frame_end() {
  // If the frame ends inside its first head, the stream is opaque, because these bytes are not a
  // Thrift head. A THeader frame that ends before its first head is an empty frame.
  const bool inside_head = state_ == State::kHead && head_begun_;
  const bool cut_off = inside_head && !unit_has_head_;
  if (inside_head || state_ == State::kBody) understood_ = false;
  return cut_off ? become_opaque("unknown") : end_unit();
}

MessageReader::Event MessageReader::after_part() {
  switch (state_) {
    case State::kHeader:
      begin_head(header_.encoding());
      return Event::kNeedMore;
    case State::kHead: {
      const auto name = head_reader_.name();
      std::copy(name.begin(), name.end(), name_.begin());
      const bool header = has_header(framing_);
      const TraceContext* const trace = header ? header_.trace() : nullptr;
      head_ = {.framing = framing_,
               .encoding = encoding_,
               .type = head_reader_.type(),
               .seqid = head_reader_.seqid(),
               .name = {name_.data(), name.size()},
               .frame_bytes = frame_bytes_,
               .header_flags = header ? header_.flags() : uint16_t{0},
               .header_seqid = header ? header_.seqid() : 0,
               .client_timeout_ms = header ? header_.client_timeout_ms() : 0,
               .trace = trace,
               .trace_at = trace == nullptr ? 0 : length_bytes(framing_) + header_.trace_at()};
      begin_body();
      return Event::kHead;
    }
    default:  // kBody
      if (framing_ == Framing::kUnframed || frame_left_ == 0) return end_unit();
      begin_head(encoding_);
      return Event::kNeedMore;
  }
}

MessageReader::Event MessageReader::after_broken(Progress progress) {
  if (unit_has_head_ && framing_ != Framing::kUnframed) {
    state_ = State::kFrameRest;
    understood_ = false;
    return Event::kNeedMore;
  }
  if (state_ == State::kHeader && header_.transformed()) return become_opaque("theader_transform");
  // If the name would be longer than the rest of its frame, the bytes are not a Thrift head with a
  // long name; the reason is then "unknown".
  const bool long_name = progress == Progress::kLongName && head_reader_.name_bytes() < frame_left_;
  return become_opaque(long_name ? "long_name" : "unknown");
}

void MessageReader::begin_head(Encoding encoding) {
  state_ = State::kHead;
  encoding_ = encoding;
  head_begun_ = false;
  head_reader_.begin(encoding);
}

void MessageReader::begin_body() {
  state_ = State::kBody;
  unit_has_head_ = true;
  switch (encoding_) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      binary_.reset();
      break;
    case Encoding::kCompact:
      compact_.reset();
      break;
    case Encoding::kJson:
      json_.reset();
      break;
  }
}

MessageReader::Event MessageReader::end_unit() {
  state_ = State::kStart;
  return Event::kEnd;
}

MessageReader::Event MessageReader::become_opaque(std::string_view reason) {
  state_ = State::kOpaque;
  opaque_reason_ = reason;
  return Event::kOpaque;
}

uint64_t MessageReader::unexamined() const {
  if (state_ == State::kFrameRest) return frame_left_;
  if (state_ != State::kBody || encoding_ == Encoding::kJson) return 0;
  const uint64_t of_body =
      encoding_ == Encoding::kCompact ? compact_.unexamined() : binary_.unexamined();
  return std::min(of_body, frame_left_);
}

Outcome MessageReader::outcome() const {
  if (head_.type == MessageType::kException) return Outcome::kApplicationException;
  int32_t field = 0;
  switch (head_.encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      field = binary_.first_field().value_or(0);
      break;
    case Encoding::kCompact:
      field = compact_.first_field().value_or(0);
      break;
    case Encoding::kJson:
      field = json_.first_field().value_or(0);
      break;
  }
  return field == 0 ? Outcome::kSuccess : Outcome::kDeclaredException;
}

}  // namespace hat::thrift
