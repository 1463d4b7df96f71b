// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/head_reader.cc: reads the heads of messages (type, name and sequence id), with one
// function for each encoding.
#include "daemon/thrift/head_reader.h"

#include <charconv>
#include <limits>

namespace hat::thrift {
namespace {

constexpr uint32_t kStrictVersion = 0x8001;
constexpr uint8_t kCompactProtocol = 0x82;
constexpr uint8_t kCompactVersion = 1;
constexpr uint8_t kSeqidDigitsMax = 10;

}  // namespace

void HeadReader::begin(Encoding encoding) {
  encoding_ = encoding;
  token_.clear();
  varint_.clear();
  name_bytes_ = name_filled_ = 0;
  digits_ = 0;
  digit_count_ = 0;
  negative_ = false;
  switch (encoding) {
    case Encoding::kBinary:
      awaited_ = Awaited::kVersion;
      break;
    case Encoding::kBinaryOld:
      awaited_ = Awaited::kNameLength;
      break;
    case Encoding::kCompact:
      awaited_ = Awaited::kProtocolAndType;
      break;
    case Encoding::kJson:
      awaited_ = Awaited::kStart;
      break;
  }
}

Progress HeadReader::read(Cursor& in) {
  while (awaited_ != Awaited::kDone) {
    if (const Progress progress = step(in); progress != Progress::kDone) return progress;
  }
  return Progress::kDone;
}

Progress HeadReader::step(Cursor& in) {
  switch (encoding_) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      return binary_step(in);
    case Encoding::kCompact:
      return compact_step(in);
    case Encoding::kJson:
      return json_step(in);
  }
  return Progress::kBroken;
}

Progress HeadReader::set_type(uint8_t type) {
  if (type < 1 || type > 4) return Progress::kBroken;
  type_ = static_cast<MessageType>(type);
  return Progress::kDone;
}

Progress HeadReader::set_name_length(uint32_t bytes) {
  name_bytes_ = bytes;
  if (bytes > std::numeric_limits<int32_t>::max()) return Progress::kBroken;
  if (bytes > kNameBytesMax) return Progress::kLongName;
  awaited_ = Awaited::kName;
  return Progress::kDone;
}

Progress HeadReader::read_name(Cursor& in) {
  const auto now = std::min<size_t>(name_bytes_ - name_filled_, in.left());
  if (now > 0) std::memcpy(name_.data() + name_filled_, in.at, now);
  in.at += now;
  name_filled_ += static_cast<uint32_t>(now);
  return name_filled_ == name_bytes_ ? Progress::kDone : Progress::kNeedMore;
}

Progress HeadReader::binary_step(Cursor& in) {
  const uint8_t* token = nullptr;
  switch (awaited_) {
    case Awaited::kVersion:
      token = token_.take(in, 4);
      if (token == nullptr) return Progress::kNeedMore;
      if (big_endian16(token) != kStrictVersion) return Progress::kBroken;
      awaited_ = Awaited::kNameLength;
      return set_type(token[3]);
    case Awaited::kNameLength:
      token = token_.take(in, 4);
      if (token == nullptr) return Progress::kNeedMore;
      return set_name_length(big_endian32(token));
    case Awaited::kName:
      if (read_name(in) == Progress::kNeedMore) return Progress::kNeedMore;
      awaited_ = encoding_ == Encoding::kBinary ? Awaited::kSeqid : Awaited::kTypeAndSeqid;
      return Progress::kDone;
    case Awaited::kSeqid:
      token = token_.take(in, 4);
      if (token == nullptr) return Progress::kNeedMore;
      seqid_ = static_cast<int32_t>(big_endian32(token));
      awaited_ = Awaited::kDone;
      return Progress::kDone;
    default:
      token = token_.take(in, 5);
      if (token == nullptr) return Progress::kNeedMore;
      seqid_ = static_cast<int32_t>(big_endian32(token + 1));
      awaited_ = Awaited::kDone;
      return set_type(token[0]);
  }
}

Progress HeadReader::compact_step(Cursor& in) {
  uint64_t value = 0;
  switch (awaited_) {
    case Awaited::kProtocolAndType: {
      const uint8_t* token = token_.take(in, 2);
      if (token == nullptr) return Progress::kNeedMore;
      if (token[0] != kCompactProtocol || (token[1] & 0x1f) != kCompactVersion) {
        return Progress::kBroken;
      }
      awaited_ = Awaited::kVarintSeqid;
      return set_type(token[1] >> 5);
    }
    case Awaited::kVarintSeqid: {
      const Progress progress = varint_.take(in, value);
      if (progress != Progress::kDone) return progress;
      seqid_ = static_cast<int32_t>(static_cast<uint32_t>(value));
      awaited_ = Awaited::kVarintNameLength;
      return Progress::kDone;
    }
    case Awaited::kVarintNameLength: {
      const Progress progress = varint_.take(in, value);
      if (progress != Progress::kDone) return progress;
      return set_name_length(static_cast<uint32_t>(value));
    }
    default:
      if (read_name(in) == Progress::kNeedMore) return Progress::kNeedMore;
      awaited_ = Awaited::kDone;
      return Progress::kDone;
  }
}

// Reads a head of the form [1,"name",type,seqid, without white space, as libthrift requires.
Progress HeadReader::json_step(Cursor& in) {
  if (awaited_ == Awaited::kEscapeDigits) return json_escape_digits(in);
  if (awaited_ == Awaited::kStart) {
    const uint8_t* token = token_.take(in, kJsonStart.size());
    if (token == nullptr) return Progress::kNeedMore;
    awaited_ = Awaited::kNameByte;
    return std::memcmp(token, kJsonStart.data(), kJsonStart.size()) == 0 ? Progress::kDone
                                                                         : Progress::kBroken;
  }
  if (awaited_ == Awaited::kTypeDigit) {
    const uint8_t* token = token_.take(in, 3);  // a comma, the type's digit, a comma
    if (token == nullptr) return Progress::kNeedMore;
    awaited_ = Awaited::kSeqidDigits;
    if (token[0] != ',' || token[2] != ',') return Progress::kBroken;
    return set_type(static_cast<uint8_t>(token[1] - '0'));
  }
  if (in.left() == 0) return Progress::kNeedMore;
  const uint8_t byte = *in.at++;
  switch (awaited_) {
    case Awaited::kNameByte:
      return json_name_byte(byte);
    case Awaited::kEscapeByte:
      return json_escape_byte(byte);
    default:
      return json_seqid_byte(byte);
  }
}

Progress HeadReader::append_to_name(uint8_t byte) {
  if (name_filled_ == kNameBytesMax) return Progress::kLongName;
  name_[name_filled_++] = static_cast<char>(byte);
  return Progress::kDone;
}

Progress HeadReader::json_name_byte(uint8_t byte) {
  if (byte == '"') {
    name_bytes_ = name_filled_;
    awaited_ = Awaited::kTypeDigit;
    return Progress::kDone;
  }
  if (byte == '\\') {
    awaited_ = Awaited::kEscapeByte;
    return Progress::kDone;
  }
  return append_to_name(byte);
}

Progress HeadReader::json_escape_byte(uint8_t byte) {
  awaited_ = Awaited::kNameByte;
  switch (byte) {
    case '"':
    case '\\':
    case '/':
      return append_to_name(byte);
    case 'b':
      return append_to_name('\b');
    case 'f':
      return append_to_name('\f');
    case 'n':
      return append_to_name('\n');
    case 'r':
      return append_to_name('\r');
    case 't':
      return append_to_name('\t');
    case 'u':
      awaited_ = Awaited::kEscapeDigits;
      return Progress::kDone;
    default:
      return Progress::kBroken;
  }
}

// Reads the four digits of an escape from \u0000 to \u00ff, and appends the character to the name
// in UTF-8. Rejects escapes of higher characters, which writers never escape.
Progress HeadReader::json_escape_digits(Cursor& in) {
  const uint8_t* token = token_.take(in, 4);
  if (token == nullptr) return Progress::kNeedMore;
  const auto* digits = reinterpret_cast<const char*>(token);
  uint32_t code = 0;
  const auto parsed = std::from_chars(digits, digits + 4, code, 16);
  if (parsed.ec != std::errc{} || parsed.ptr != digits + 4 || code > 0xff) {
    return Progress::kBroken;
  }
  awaited_ = Awaited::kNameByte;
  if (code < 0x80) return append_to_name(static_cast<uint8_t>(code));
  if (append_to_name(static_cast<uint8_t>(0xc0 | code >> 6)) != Progress::kDone) {
    return Progress::kLongName;
  }
  return append_to_name(static_cast<uint8_t>(0x80 | (code & 0x3f)));
}

Progress HeadReader::json_seqid_byte(uint8_t byte) {
  if (byte == '-' && digit_count_ == 0 && !negative_) {
    negative_ = true;
    return Progress::kDone;
  }
  if (byte == ',' && digit_count_ > 0) {
    const int64_t seqid = negative_ ? -digits_ : digits_;
    seqid_ = static_cast<int32_t>(seqid);
    awaited_ = Awaited::kDone;
    return seqid_ == seqid ? Progress::kDone : Progress::kBroken;
  }
  if (byte < '0' || byte > '9' || ++digit_count_ > kSeqidDigitsMax) return Progress::kBroken;
  digits_ = 10 * digits_ + (byte - '0');
  return Progress::kDone;
}

}  // namespace hat::thrift
