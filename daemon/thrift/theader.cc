// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/theader.cc: reads the fixed fields, the protocol and the number of transforms of a
// THeader header.
#include "daemon/thrift/theader.h"

namespace hat::thrift {
namespace {

constexpr uint16_t kMagic = 0x0fff;
constexpr uint64_t kProtocolBinary = 0;
constexpr uint64_t kProtocolCompact = 2;

}  // namespace

bool may_have_header(std::span<const std::byte> start) {
  const auto has_magic_after = [start](Framing framing) {
    const size_t at = length_bytes(framing);
    return start.size() >= at + 2 &&
           big_endian16(reinterpret_cast<const uint8_t*>(start.data()) + at) == kMagic;
  };
  return has_magic_after(Framing::kHeader) || has_magic_after(Framing::kFramedHeader);
}

void HeaderReader::begin(uint32_t frame_bytes) {
  token_.clear();
  varint_.clear();
  info_.begin();
  awaited_ = Awaited::kFixed;
  transformed_ = false;
  frame_bytes_ = frame_bytes;
}

Progress HeaderReader::read(Cursor& in) {
  while (awaited_ != Awaited::kInfo) {
    if (const Progress progress = step(in); progress != Progress::kDone) return progress;
  }
  const Cursor words = words_in(in);
  info_.read(words);
  words_left_ -= static_cast<uint32_t>(words.left());
  in.at = words.end;
  return words_left_ == 0 ? Progress::kDone : Progress::kNeedMore;
}

Progress HeaderReader::step(Cursor& in) {
  uint64_t value = 0;
  if (awaited_ == Awaited::kFixed) {
    const uint8_t* fixed = token_.take(in, kHeaderFixedBytes);
    if (fixed == nullptr) return Progress::kNeedMore;
    flags_ = big_endian16(fixed + 2);
    seqid_ = big_endian32(fixed + 4);
    words_left_ = 4 * uint32_t{big_endian16(fixed + kHeaderWordsAt)};
    info_at_ = kHeaderFixedBytes + words_left_;
    awaited_ = Awaited::kProtocol;
    const bool fits =
        big_endian16(fixed) == kMagic && frame_bytes_ >= kHeaderFixedBytes + words_left_;
    return fits ? Progress::kDone : Progress::kBroken;
  }
  const Progress progress = take_word_varint(in, value);
  if (progress != Progress::kDone) return progress;
  if (awaited_ == Awaited::kProtocol) {
    awaited_ = Awaited::kTransforms;
    if (value != kProtocolBinary && value != kProtocolCompact) return Progress::kBroken;
    encoding_ = value == kProtocolBinary ? Encoding::kBinary : Encoding::kCompact;
    return Progress::kDone;
  }
  awaited_ = Awaited::kInfo;
  info_at_ -= words_left_;  // the sum was the offset of the payload
  transformed_ = value > 0;
  return transformed_ ? Progress::kBroken : Progress::kDone;
}

// Returns the part of `in` that belongs to the header words.
Cursor HeaderReader::words_in(const Cursor& in) const {
  return {in.at, in.at + std::min<size_t>(in.left(), words_left_)};
}

// Reads one varint. Returns kBroken if it does not end within the header words.
Progress HeaderReader::take_word_varint(Cursor& in, uint64_t& value) {
  Cursor words = words_in(in);
  const Progress progress = varint_.take(words, value);
  words_left_ -= static_cast<uint32_t>(words.at - in.at);
  in.at = words.at;
  if (progress == Progress::kNeedMore && words_left_ == 0) return Progress::kBroken;
  return progress;
}

}  // namespace hat::thrift
