// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.cc: compares the first bytes of a unit with those of each format.
#include "daemon/thrift/classify.h"

#include <algorithm>
#include <array>

#include "daemon/thrift/cursor.h"

namespace hat::thrift {
namespace {

using Kind = Classification::Kind;
using First = std::span<const uint8_t>;

constexpr std::array<std::string_view, 10> kHttpStarts = {"POST", "OPTI", "GET ", "HTTP", "HEAD",
                                                          "PUT ", "DELE", "PATC", "CONN", "PRI "};

// The size in bytes of the shortest message in each encoding: a head with an empty name.
constexpr uint32_t kStrictBytesMin = 4 + 4 + 4;
constexpr uint32_t kOldBytesMin = 4 + 1 + 4;
constexpr uint32_t kCompactBytesMin = 2 + 1 + 1;
constexpr uint32_t kJsonBytesMin = 10;        // [1,"",1,0,
constexpr uint32_t kHeaderBytesMin = 10 + 4;  // fixed fields and a word with the protocol id

constexpr uint8_t kSaslNameBytesMax = 20;

constexpr Classification undecided() { return {}; }
constexpr Classification opaque(std::string_view reason) {
  return {.kind = Kind::kOpaque, .opaque_reason = reason};
}
constexpr Classification message(Framing framing, Encoding encoding) {
  return {.kind = Kind::kMessage, .framing = framing, .encoding = encoding};
}

enum class Match : uint8_t { kNo, kPartly, kYes };

Match match(First bytes, std::string_view text) {
  const size_t common = std::min(bytes.size(), text.size());
  if (!std::equal(text.begin(), text.begin() + common, bytes.begin(),
                  [](char c, uint8_t byte) { return static_cast<uint8_t>(c) == byte; })) {
    return Match::kNo;
  }
  return bytes.size() < text.size() ? Match::kPartly : Match::kYes;
}

bool is_printable(uint8_t byte) { return byte > 0x20 && byte < 0x7f; }
bool is_message_type(uint8_t type) { return type >= 1 && type <= 4; }

// Recognises every encoding except old binary, which has no identifying first byte. Returns kOpaque
// for old binary and all other bytes. `body_bytes` is the maximum size of the message in bytes.
Classification classify_marked(First body, uint32_t body_bytes, Framing framing) {
  if (body.empty()) return undecided();
  const auto fits = [&](uint32_t least) { return body_bytes >= least; };
  switch (body[0]) {
    case 0x80:
      if (!fits(kStrictBytesMin)) break;
      if (body.size() < 2) return undecided();
      if (body[1] != 0x01) break;
      if (body.size() < 4) return undecided();
      if (!is_message_type(body[3])) break;
      return message(framing, Encoding::kBinary);
    case 0x82:
      if (!fits(kCompactBytesMin)) break;
      if (body.size() < 2) return undecided();
      if ((body[1] & 0x1f) != 1 || !is_message_type(body[1] >> 5)) break;
      return message(framing, Encoding::kCompact);
    case '[':
      if (!fits(kJsonBytesMin)) break;
      switch (match(body, kJsonStart)) {
        case Match::kNo:
          break;
        case Match::kPartly:
          return undecided();
        case Match::kYes:
          return message(framing, Encoding::kJson);
      }
      break;
    default:
      break;
  }
  return opaque("unknown");
}

// Classifies a unit whose first bytes cannot be the length of a frame.
Classification classify_lengthless(First first) {
  if (const auto marked = classify_marked(first, UINT32_MAX, Framing::kUnframed);
      marked.kind != Kind::kOpaque) {
    return marked;
  }
  if (first[0] == 0x78) {
    if (first.size() < 2) return undecided();
    for (const int level : {0x01, 0x5e, 0x9c, 0xda}) {
      if (first[1] == level) return opaque("zlib");
    }
  }
  for (const auto start : kHttpStarts) {
    switch (match(first, start)) {
      case Match::kNo:
        break;
      case Match::kPartly:
        return undecided();
      case Match::kYes:
        return opaque("http");
    }
  }
  return opaque("unknown");
}

// Returns kOpaque with the reason, for a unit that cannot be a frame. `word` has the unit's first
// four bytes, and `byte4` is its fifth byte.
Classification not_a_frame(uint32_t word, uint8_t byte4) {
  const uint8_t type = static_cast<uint8_t>(word >> 24);
  // SASL begins with the byte START (1) and the length of the mechanism's name.
  if (word == 0x01000000 && byte4 >= 1 && byte4 <= kSaslNameBytesMax) return opaque("sasl");
  if (is_message_type(type) && (word & 0x00ffffff) == 0x000180) return opaque("binary_le");
  return opaque("unknown");
}

// Checks whether the body of a frame begins like a THeader frame that fills the body: with the
// length of the rest of the body, and THeader's magic number.
Match match_inner_header(uint32_t frame_bytes, First body) {
  if (frame_bytes < 4 + kHeaderBytesMin) return Match::kNo;
  const uint32_t inner = frame_bytes - 4;
  const char start[] = {static_cast<char>(inner >> 24),
                        static_cast<char>(inner >> 16),
                        static_cast<char>(inner >> 8),
                        static_cast<char>(inner),
                        '\x0f',
                        '\xff'};
  return match(body, {start, sizeof start});
}

// Classifies a unit by its first four bytes, `word`, and the bytes after them, `body`. `word` is
// the length of a frame, or the length of a name in unframed old binary.
Classification classify_length(uint32_t word, First body) {
  if (word == 0) return {.kind = Kind::kEmptyFrame, .framing = Framing::kFramed};
  if (body.empty()) return undecided();
  switch (match_inner_header(word, body)) {
    case Match::kNo:
      break;
    case Match::kPartly:
      return undecided();
    case Match::kYes:
      return message(Framing::kFramedHeader, Encoding::kBinary);
  }
  if (body[0] == 0x0f) {
    if (body.size() < 2) return undecided();
    return body[1] == 0xff && word >= kHeaderBytesMin ? message(Framing::kHeader, Encoding::kBinary)
                                                      : not_a_frame(word, body[0]);
  }
  if (body[0] == 0x00) {
    return word >= kOldBytesMin ? message(Framing::kFramed, Encoding::kBinaryOld)
                                : not_a_frame(word, body[0]);
  }
  if (const auto marked = classify_marked(body, word, Framing::kFramed);
      marked.kind != Kind::kOpaque) {
    return marked;
  }
  if (!is_printable(body[0])) return not_a_frame(word, body[0]);
  if (word <= kNameBytesMax) return message(Framing::kUnframed, Encoding::kBinaryOld);
  return word < 1u << 24 ? opaque("long_name") : not_a_frame(word, body[0]);
}

}  // namespace

Classification classify(First first) {
  if (first.empty()) return undecided();
  if (first[0] > kFrameBytesMax >> 24) return classify_lengthless(first);
  // The first three bytes identify a TLS record. As a frame's length, these bytes would mean 369
  // MB.
  if (first.size() >= 3 && first[0] == 0x16 && first[1] == 0x03 && first[2] <= 0x04) {
    return opaque("tls");
  }
  if (first.size() < 4) return undecided();
  return classify_length(big_endian32(first.data()), first.subspan(4));
}

}  // namespace hat::thrift
