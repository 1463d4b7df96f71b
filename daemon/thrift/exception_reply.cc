// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply.cc: writes the exception in each encoding, and the frame around it.
#include "daemon/thrift/exception_reply.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace hat::thrift {
namespace {

constexpr auto kException = static_cast<uint8_t>(MessageType::kException);
constexpr uint16_t kHeaderMagic = 0x0fff;
// The reply's one THeader word has the protocol id, the number of transforms (0) and two bytes of
// padding.
constexpr uint16_t kHeaderWords = 1;

// Appends bytes to the reply. Does not check the space: the reply's buffer has space for the
// longest name and text.
class Writer {
 public:
  Writer(std::byte* begin) : begin_(begin), at_(begin) {}

  void u8(uint8_t value) { *at_++ = std::byte{value}; }
  void u16(uint16_t value) {
    u8(static_cast<uint8_t>(value >> 8)), u8(static_cast<uint8_t>(value));
  }
  void u32(uint32_t value) {
    u16(static_cast<uint16_t>(value >> 16)), u16(static_cast<uint16_t>(value));
  }
  void varint(uint32_t value) {
    for (; value >= 0x80; value >>= 7) u8(static_cast<uint8_t>(value | 0x80));
    u8(static_cast<uint8_t>(value));
  }
  void text(std::string_view value) {
    if (!value.empty()) std::memcpy(at_, value.data(), value.size());
    at_ += value.size();
  }
  void decimal(int32_t value) {
    std::array<char, 12> digits;
    const auto end = std::to_chars(digits.begin(), digits.end(), value).ptr;
    text({digits.data(), static_cast<size_t>(end - digits.data())});
  }
  void json_string(std::string_view value) {
    constexpr std::string_view kHex = "0123456789abcdef";
    u8('"');
    for (const char c : value) {
      const auto byte = static_cast<uint8_t>(c);
      if (byte < 0x20) {
        text("\\u00");
        u8(static_cast<uint8_t>(kHex[byte >> 4])), u8(static_cast<uint8_t>(kHex[byte & 15]));
      } else {
        if (c == '"' || c == '\\') u8('\\');
        u8(byte);
      }
    }
    u8('"');
  }

  std::byte* at() const { return at_; }
  size_t size() const { return static_cast<size_t>(at_ - begin_); }

 private:
  std::byte* begin_;
  std::byte* at_;
};

// Returns the first kExceptionTextBytesMax bytes of `text`, without a partial UTF-8 character at
// the end: some clients reject a text with such a character.
std::string_view cut(std::string_view text) {
  if (text.size() <= kExceptionTextBytesMax) return text;
  size_t size = kExceptionTextBytesMax;
  while (size > 0 && (static_cast<uint8_t>(text[size]) & 0xc0) == 0x80) --size;
  return text.substr(0, size);
}

void write_binary(Writer& out, std::string_view name, int32_t seqid, int32_t code,
                  std::string_view text) {
  constexpr uint8_t kString = 11, kI32 = 8, kStop = 0;
  out.u32(0x80010000u | kException);
  out.u32(static_cast<uint32_t>(name.size()));
  out.text(name);
  out.u32(static_cast<uint32_t>(seqid));
  out.u8(kString), out.u16(1), out.u32(static_cast<uint32_t>(text.size()));
  out.text(text);
  out.u8(kI32), out.u16(2), out.u32(static_cast<uint32_t>(code));
  out.u8(kStop);
}

void write_compact(Writer& out, std::string_view name, int32_t seqid, int32_t code,
                   std::string_view text) {
  constexpr uint8_t kNextField = 1 << 4;  // the field's id is one higher than the previous field's
  constexpr uint8_t kBinary = 8, kI32 = 5, kStop = 0;
  out.u8(0x82), out.u8(kException << 5 | 1);
  out.varint(static_cast<uint32_t>(seqid));
  out.varint(static_cast<uint32_t>(name.size()));
  out.text(name);
  out.u8(kNextField | kBinary), out.varint(static_cast<uint32_t>(text.size()));
  out.text(text);
  out.u8(kNextField | kI32), out.varint(static_cast<uint32_t>(code) << 1);  // zigzag of code >= 0
  out.u8(kStop);
}

void write_json(Writer& out, std::string_view name, int32_t seqid, int32_t code,
                std::string_view text) {
  out.text("[1,"), out.json_string(name);
  out.u8(','), out.decimal(kException);
  out.u8(','), out.decimal(seqid);
  out.text(",{\"1\":{\"str\":"), out.json_string(text);
  out.text("},\"2\":{\"i32\":"), out.decimal(code);
  out.text("}}]");
}

}  // namespace

ExceptionReply::ExceptionReply(const Head& request, ExceptionCode code, std::string_view text) {
  const auto name = bare_name(request.name);
  const auto number = static_cast<int32_t>(code);
  const auto shown = cut(text);

  Writer out(bytes_.data());
  // Reserves space for the length words, which are set below.
  for (uint32_t i = 0; i < length_bytes(request.framing); ++i) out.u8(0);
  if (has_header(request.framing)) {
    out.u16(kHeaderMagic), out.u16(request.header_flags), out.u32(request.header_seqid);
    out.u16(kHeaderWords);
    out.u8(request.encoding == Encoding::kCompact ? 2 : 0), out.u8(0), out.u16(0);
  }
  switch (request.encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      write_binary(out, name, request.seqid, number, shown);
      break;
    case Encoding::kCompact:
      write_compact(out, name, request.seqid, number, shown);
      break;
    case Encoding::kJson:
      write_json(out, name, request.seqid, number, shown);
      break;
  }
  size_ = out.size();
  Writer lengths(bytes_.data());
  for (uint32_t at = 4; at <= length_bytes(request.framing); at += 4) {
    lengths.u32(static_cast<uint32_t>(size_ - at));
  }
}

}  // namespace hat::thrift
