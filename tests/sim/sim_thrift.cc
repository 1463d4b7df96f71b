// SPDX-License-Identifier: Apache-2.0
#include "tests/sim/sim_thrift.h"

#include <charconv>

namespace hat::sim {
namespace {

constexpr uint8_t kBinaryI32 = 8, kBinaryI64 = 10, kBinaryString = 11;
constexpr uint8_t kCompactI32 = 5, kCompactI64 = 6, kCompactBinary = 8;

// --- Writing ---

class Writer {
 public:
  std::string out;

  void big(uint64_t value, int bytes) {
    for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
      out.push_back(static_cast<char>(value >> shift));
    }
  }
  void varint(uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
  }
  void zigzag(int64_t value) {
    varint((static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63));
  }
};

void write_binary(Writer& to, const Message& message, bool strict) {
  const auto type = static_cast<uint8_t>(message.type);
  if (strict) to.big(0x80010000u | type, 4);
  to.big(message.name.size(), 4);
  to.out += message.name;
  if (!strict) to.big(type, 1);
  to.big(static_cast<uint32_t>(message.seqid), 4);
  for (const Field& field : message.fields) {
    const bool text = field.kind == Field::Kind::kText;
    const bool wide = field.kind == Field::Kind::kI64;
    to.big(text ? kBinaryString : wide ? kBinaryI64 : kBinaryI32, 1);
    to.big(static_cast<uint16_t>(field.id), 2);
    if (text) {
      to.big(field.text.size(), 4);
      to.out += field.text;
    } else {
      to.big(static_cast<uint64_t>(field.number), wide ? 8 : 4);
    }
  }
  to.big(0, 1);
}

void write_compact(Writer& to, const Message& message) {
  to.big(0x82, 1);
  to.big(static_cast<unsigned>(message.type) << 5 | 1, 1);
  to.varint(static_cast<uint32_t>(message.seqid));
  to.varint(message.name.size());
  to.out += message.name;
  int last = 0;
  for (const Field& field : message.fields) {
    const bool text = field.kind == Field::Kind::kText;
    const uint8_t type = text                              ? kCompactBinary
                         : field.kind == Field::Kind::kI64 ? kCompactI64
                                                           : kCompactI32;
    const int delta = field.id - last;
    if (delta > 0) {
      to.big(static_cast<uint8_t>(delta << 4 | type), 1);
    } else {
      to.big(type, 1);
      to.zigzag(field.id);
    }
    last = field.id;
    if (text) {
      to.varint(field.text.size());
      to.out += field.text;
    } else {
      to.zigzag(field.number);
    }
  }
  to.big(0, 1);
}

void write_json(Writer& to, const Message& message) {
  to.out += "[1,\"" + message.name + "\"," + std::to_string(static_cast<int>(message.type)) + "," +
            std::to_string(message.seqid) + ",{";
  for (const Field& field : message.fields) {
    if (&field != &message.fields.front()) to.out += ',';
    to.out += '"' + std::to_string(field.id) + "\":{";
    if (field.kind == Field::Kind::kText) {
      to.out += "\"str\":\"" + field.text + "\"}";
    } else {
      to.out += field.kind == Field::Kind::kI64 ? "\"i64\":" : "\"i32\":";
      to.out += std::to_string(field.number) + "}";
    }
  }
  to.out += "}]";
}

// --- Reading ---

// Reads values from the start of a text. `short_` says that the text ends too early; `broken_` says
// that it is malformed, so that more bytes cannot help.
class Reader {
 public:
  explicit Reader(std::string_view bytes) : all_(bytes), left_(bytes) {}

  bool ok() const { return !short_ && !broken_; }
  bool is_short() const { return short_ && !broken_; }
  size_t taken() const { return all_.size() - left_.size(); }
  void expect(bool truth) { broken_ |= ok() && !truth; }

  std::string_view take(size_t count) {
    if (!ok()) return {};
    if (left_.size() < count) {
      short_ = true;
      return {};
    }
    const auto taken = left_.substr(0, count);
    left_.remove_prefix(count);
    return taken;
  }
  uint64_t big(size_t bytes) {
    uint64_t value = 0;
    for (const char c : take(bytes)) value = value << 8 | static_cast<uint8_t>(c);
    return value;
  }
  uint64_t varint() {
    uint64_t value = 0;
    for (int shift = 0; ok() && shift < 64; shift += 7) {
      const uint64_t byte = big(1);
      value |= (byte & 0x7f) << shift;
      if ((byte & 0x80) == 0) return value;
    }
    expect(false);
    return 0;
  }
  int64_t zigzag() {
    const uint64_t value = varint();
    return static_cast<int64_t>(value >> 1) ^ -static_cast<int64_t>(value & 1);
  }
  void literal(std::string_view text) {
    const auto found = take(std::min(text.size(), left_.size()));
    expect(text.starts_with(found));
    if (ok() && found.size() < text.size()) short_ = true;
  }
  std::string_view until(char end) {
    const size_t at = left_.find(end);
    if (at == std::string_view::npos) {
      short_ = true;
      return {};
    }
    const auto found = take(at);
    take(1);
    return found;
  }
  // Reads a JSON string up to its closing quote, and returns it with its escapes decoded (`\u…` is
  // returned as '?').
  std::string json_text() {
    std::string text;
    for (;;) {
      const auto part = take(1);
      if (!ok() || part == "\"") return text;
      if (part != "\\") {
        text += part;
        continue;
      }
      const auto escaped = take(1);
      if (escaped == "u") {
        take(4);
        text += '?';
      } else {
        text += escaped;
      }
    }
  }
  int64_t decimal(char end) {
    const auto digits = until(end);
    int64_t value = 0;
    if (ok()) expect(std::from_chars(digits.begin(), digits.end(), value).ec == std::errc());
    return value;
  }
  char peek() {
    if (left_.empty()) short_ = true;
    return ok() ? left_.front() : '\0';
  }

 private:
  std::string_view all_;
  std::string_view left_;
  bool short_ = false;
  bool broken_ = false;
};

Field::Kind binary_kind(uint64_t type, Reader& in) {
  in.expect(type == kBinaryI32 || type == kBinaryI64 || type == kBinaryString);
  return type == kBinaryString ? Field::Kind::kText
         : type == kBinaryI64  ? Field::Kind::kI64
                               : Field::Kind::kI32;
}

void read_binary(Reader& in, Message& message) {
  uint64_t word = in.big(4);
  const bool strict = (word & 0x80000000u) != 0;
  if (strict) {
    in.expect(word >> 16 == 0x8001);
    message.type = static_cast<MessageType>(word & 0xff);
    word = in.big(4);
  }
  in.expect(word < 1000);
  message.name = in.take(word);
  if (!strict) message.type = static_cast<MessageType>(in.big(1));
  message.seqid = static_cast<int32_t>(in.big(4));
  while (in.ok()) {
    const uint64_t type = in.big(1);
    if (!in.ok() || type == 0) return;
    Field field{.kind = binary_kind(type, in)};
    field.id = static_cast<int16_t>(in.big(2));
    if (field.kind == Field::Kind::kText) {
      field.text = in.take(in.big(4));
    } else if (field.kind == Field::Kind::kI64) {
      field.number = static_cast<int64_t>(in.big(8));
    } else {
      field.number = static_cast<int32_t>(in.big(4));
    }
    message.fields.push_back(std::move(field));
  }
}

void read_compact(Reader& in, Message& message) {
  in.expect(in.big(1) == 0x82);
  const uint64_t type_word = in.big(1);
  in.expect((type_word & 0x1f) == 1);
  message.type = static_cast<MessageType>(type_word >> 5);
  message.seqid = static_cast<int32_t>(in.varint());
  message.name = in.take(in.varint());
  int16_t last = 0;
  while (in.ok()) {
    const uint64_t word = in.big(1);
    if (!in.ok() || word == 0) return;
    const uint64_t type = word & 0xf;
    in.expect(type == kCompactI32 || type == kCompactI64 || type == kCompactBinary);
    Field field{.kind = type == kCompactBinary ? Field::Kind::kText
                        : type == kCompactI64  ? Field::Kind::kI64
                                               : Field::Kind::kI32};
    field.id =
        static_cast<int16_t>(word >> 4 != 0 ? last + static_cast<int>(word >> 4) : in.zigzag());
    last = field.id;
    if (field.kind == Field::Kind::kText) {
      field.text = in.take(in.varint());
    } else {
      field.number = in.zigzag();
    }
    message.fields.push_back(std::move(field));
  }
}

void read_json(Reader& in, Message& message) {
  in.literal("[1,\"");
  message.name = in.json_text();
  in.literal(",");
  message.type = static_cast<MessageType>(in.decimal(','));
  message.seqid = static_cast<int32_t>(in.decimal(','));
  in.literal("{");
  for (bool first = true; in.ok(); first = false) {
    if (in.peek() == '}') break;
    if (!first) in.literal(",");
    in.literal("\"");
    Field field;
    field.id = static_cast<int16_t>(in.decimal('"'));
    in.literal(":{\"");
    const auto type = in.until('"');
    in.literal(":");
    if (type == "str") {
      field.kind = Field::Kind::kText;
      in.literal("\"");
      field.text = in.json_text();
      in.literal("}");
    } else {
      field.kind = type == "i64" ? Field::Kind::kI64 : Field::Kind::kI32;
      field.number = in.decimal('}');
    }
    if (in.ok()) message.fields.push_back(std::move(field));
  }
  in.literal("}]");
}

void read_message(Encoding encoding, Reader& in, Message& message) {
  switch (encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      return read_binary(in, message);
    case Encoding::kCompact:
      return read_compact(in, message);
    case Encoding::kJson:
      return read_json(in, message);
  }
}

// Returns the payload of the THeader frame `frame` (without its length bytes). Does not decode
// transforms.
std::string_view strip_header(std::string_view frame, Reader& in) {
  in.expect(in.big(2) == 0x0fff);
  in.take(6);
  const size_t words = in.big(2);
  in.expect(frame.size() >= 10 + words * 4);
  return in.ok() ? frame.substr(10 + words * 4) : std::string_view();
}

}  // namespace

const Field* Message::find(int16_t id) const {
  for (const Field& field : fields) {
    if (field.id == id) return &field;
  }
  return nullptr;
}

std::string encode(const Dialect& dialect, const Message& message) {
  Writer body;
  switch (dialect.encoding) {
    case Encoding::kBinary:
    case Encoding::kBinaryOld:
      write_binary(body, message, dialect.encoding == Encoding::kBinary);
      break;
    case Encoding::kCompact:
      write_compact(body, message);
      break;
    case Encoding::kJson:
      write_json(body, message);
  }
  if (dialect.framing == Framing::kUnframed) return std::move(body.out);
  Writer frame;
  if (has_header(dialect.framing)) {
    const size_t header_frame = body.out.size() + 14;
    if (dialect.framing == Framing::kFramedHeader) frame.big(header_frame + 4, 4);
    frame.big(header_frame, 4);
    frame.big(0x0fff0000, 4);
    frame.big(static_cast<uint32_t>(message.seqid), 4);
    frame.big(1, 2);
    frame.big(dialect.encoding == Encoding::kCompact ? 2 : 0, 1);
    frame.big(0, 3);  // no transforms (1 byte), and padding (2 bytes)
  } else {
    frame.big(body.out.size(), 4);
  }
  return std::move(frame.out) + body.out;
}

Decoded decode(const Dialect& dialect, std::string_view bytes) {
  Decoded decoded;
  size_t frame_bytes = 0;
  std::string_view body = bytes;
  if (dialect.framing != Framing::kUnframed) {
    Reader length(bytes);
    frame_bytes = 4 + length.big(4);
    if (!length.ok() || bytes.size() < frame_bytes) return decoded;
    const size_t lengths = length_bytes(dialect.framing);
    body = bytes.substr(lengths, frame_bytes - lengths);
    if (has_header(dialect.framing)) {
      Reader header(body);
      body = strip_header(body, header);
    }
  }
  Reader in(body);
  read_message(dialect.encoding, in, decoded.message);
  if (in.ok()) {
    decoded.kind = Decoded::Kind::kMessage;
    decoded.bytes = frame_bytes != 0 ? frame_bytes : in.taken();
  } else if (!in.is_short() || frame_bytes != 0) {
    decoded.kind = Decoded::Kind::kBroken;
    decoded.bytes = frame_bytes;
  }
  return decoded;
}

std::optional<Dialect> detect(std::string_view bytes) {
  if (bytes.size() < 8) return std::nullopt;
  const auto byte = [&](size_t at) { return static_cast<uint8_t>(bytes[at]); };
  const auto encoding_at = [&](size_t at) -> std::optional<Encoding> {
    if (byte(at) == 0x80) return Encoding::kBinary;
    if (byte(at) == 0x82) return Encoding::kCompact;
    if (byte(at) == '[') return Encoding::kJson;
    return std::nullopt;
  };
  if (const auto encoding = encoding_at(0)) return Dialect{"", Framing::kUnframed, *encoding};
  if (const auto encoding = encoding_at(4)) return Dialect{"", Framing::kFramed, *encoding};
  if (bytes.size() < 10) return std::nullopt;  // messages of the dialects below are longer
  for (const Framing framing : {Framing::kHeader, Framing::kFramedHeader}) {
    const size_t magic = length_bytes(framing);
    const size_t protocol = magic + 10;
    if (byte(magic) != 0x0f || byte(magic + 1) != 0xff) continue;
    if (bytes.size() <= protocol) return std::nullopt;
    const Encoding encoding = byte(protocol) == 2 ? Encoding::kCompact : Encoding::kBinary;
    return Dialect{"", framing, encoding};
  }
  const bool framed = byte(4) == 0;  // byte 4 of a framed message: high byte of the name's length
  return Dialect{"", framed ? Framing::kFramed : Framing::kUnframed, Encoding::kBinaryOld};
}

}  // namespace hat::sim
