// SPDX-License-Identifier: Apache-2.0
#include "daemon/thrift/envelope.h"

#include <array>
#include <cassert>
#include <charconv>
#include <string_view>

#include "daemon/thrift/cursor.h"
#include "daemon/thrift/theader.h"

namespace hat::thrift {
namespace {

constexpr size_t kLengthWordBytes = 4;
constexpr size_t kHeaderSeqidAt = 4;  // THeader: offset of the sequence id, after magic and flags
constexpr size_t kCompactIdAt = 2;    // compact: offset of the sequence id in a message

const uint8_t* octets(std::span<const std::byte> bytes) {
  return reinterpret_cast<const uint8_t*>(bytes.data());
}

void append(std::vector<std::byte>& out, std::span<const std::byte> bytes) {
  out.insert(out.end(), bytes.begin(), bytes.end());
}

void put_big_endian32(std::byte* at, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) *at++ = static_cast<std::byte>(value >> shift);
}

void append_varint(std::vector<std::byte>& out, uint32_t value) {
  for (; value >= 0x80; value >>= 7) out.push_back(static_cast<std::byte>(value | 0x80));
  out.push_back(static_cast<std::byte>(value));
}

void append_binary_head(std::span<const std::byte> head, int32_t seqid,
                        std::vector<std::byte>& out) {
  append(out, head);
  put_big_endian32(out.data() + out.size() - sizeof seqid, static_cast<uint32_t>(seqid));
}

void append_compact_head(std::span<const std::byte> head, int32_t seqid,
                         std::vector<std::byte>& out) {
  size_t after = kCompactIdAt;
  while ((octets(head)[after++] & 0x80) != 0) {
  }
  append(out, head.first(kCompactIdAt));
  append_varint(out, static_cast<uint32_t>(seqid));
  append(out, head.subspan(after));
}

// Appends a head of the form [1,"name",type,seqid,
void append_json_head(std::span<const std::byte> head, int32_t seqid, std::vector<std::byte>& out) {
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size() - 1);
  std::array<char, 12> digits;
  char* const end = std::to_chars(digits.begin(), digits.end() - 1, seqid).ptr;
  *end = ',';
  append(out, head.first(text.rfind(',') + 1));
  append(out,
         std::as_bytes(std::span(digits.data(), static_cast<size_t>(end + 1 - digits.data()))));
}

void append_head(std::span<const std::byte> head, Encoding encoding, int32_t seqid,
                 std::vector<std::byte>& out) {
  switch (encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      return append_binary_head(head, seqid, out);
    case Encoding::kCompact:
      return append_compact_head(head, seqid, out);
    case Encoding::kJson:
      return append_json_head(head, seqid, out);
  }
}

}  // namespace

std::optional<WholeMessage> read_whole(MessageReader& reader, std::span<const std::byte> unit) {
  using Event = MessageReader::Event;
  const auto first = reader.next(unit);
  if (first.event != Event::kHead) return std::nullopt;
  const Head& head = reader.head();
  const WholeMessage message{.framing = head.framing,
                             .encoding = head.encoding,
                             .ids = {head.seqid, head.header_seqid},
                             .name_hash = name_hash(bare_name(head.name)),
                             .envelope_bytes = static_cast<uint32_t>(first.consumed)};
  const auto second = reader.next(unit.subspan(first.consumed));
  const bool ends = first.consumed + second.consumed == unit.size();
  if (second.event != Event::kEnd || !ends || !reader.understood()) return std::nullopt;
  return message;
}

void write_envelope(std::span<const std::byte> envelope, Framing framing, Encoding encoding,
                    MessageIds ids, std::vector<std::byte>& out) {
  const size_t lengths = length_bytes(framing);
  const auto frame = envelope.subspan(lengths);
  size_t header = 0;
  out.assign(envelope.begin(), envelope.begin() + static_cast<ptrdiff_t>(lengths));
  if (has_header(framing)) {
    header = kHeaderFixedBytes + 4 * size_t{big_endian16(octets(frame) + kHeaderWordsAt)};
    assert(header <= frame.size());
    append(out, frame.first(header));
    put_big_endian32(out.data() + lengths + kHeaderSeqidAt, ids.header_seqid);
  }
  append_head(frame.subspan(header), encoding, ids.seqid, out);
  const auto grown =
      static_cast<uint32_t>(out.size() - envelope.size());  // wraps around if negative
  for (size_t at = 0; at < lengths; at += kLengthWordBytes) {
    put_big_endian32(out.data() + at, big_endian32(octets(envelope) + at) + grown);
  }
}

}  // namespace hat::thrift
