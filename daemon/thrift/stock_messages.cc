// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/stock_messages.cc: writes and reads Thrift messages with libthrift's protocols and
// transports.
#include "daemon/thrift/stock_messages.h"

#include <thrift/TApplicationException.h>
#include <thrift/protocol/TBinaryProtocol.h>
#include <thrift/protocol/TCompactProtocol.h>
#include <thrift/protocol/THeaderProtocol.h>
#include <thrift/protocol/TJSONProtocol.h>
#include <thrift/transport/TBufferTransports.h>
#include <thrift/transport/THeaderTransport.h>

#include <memory>

namespace hat::thrift {
namespace {

namespace tp = apache::thrift::protocol;
namespace tt = apache::thrift::transport;
using apache::thrift::TConfiguration;

constexpr uint32_t kDepthMax = 6;

// Returns libthrift's protocol for `dialect` over `memory`. `string_bytes_max` limits the strings
// in input; 0 means no limit. Without a limit, libthrift allocates space for a string before it
// checks that the input contains the string.
std::shared_ptr<tp::TProtocol> protocol(const Dialect& dialect,
                                        const std::shared_ptr<tt::TTransport>& memory,
                                        int32_t string_bytes_max = 0) {
  const bool framed =
      dialect.framing == Framing::kFramed || dialect.framing == Framing::kFramedHeader;
  const auto transport =
      framed ? std::shared_ptr<tt::TTransport>(std::make_shared<tt::TFramedTransport>(memory))
             : memory;
  if (has_header(dialect.framing)) {
    return std::make_shared<tp::THeaderProtocol>(transport, dialect.encoding == Encoding::kCompact
                                                                ? tp::T_COMPACT_PROTOCOL
                                                                : tp::T_BINARY_PROTOCOL);
  }
  switch (dialect.encoding) {
    case Encoding::kBinary:
      return std::make_shared<tp::TBinaryProtocol>(transport, string_bytes_max, 0, false, true);
    case Encoding::kBinaryOld:
      return std::make_shared<tp::TBinaryProtocol>(transport, string_bytes_max, 0, false, false);
    case Encoding::kCompact:
      return std::make_shared<tp::TCompactProtocol>(transport, string_bytes_max, 0);
    case Encoding::kJson:
      return std::make_shared<tp::TJSONProtocol>(transport);
  }
  return nullptr;
}

std::shared_ptr<tt::TMemoryBuffer> memory_over(std::string_view bytes) {
  auto* data = reinterpret_cast<uint8_t*>(const_cast<char*>(bytes.data()));
  // Uses a separate configuration object: a shared one would count the bytes of all buffers against
  // one limit.
  return std::make_shared<tt::TMemoryBuffer>(data, static_cast<uint32_t>(bytes.size()),
                                             tt::TMemoryBuffer::OBSERVE,
                                             std::make_shared<TConfiguration>());
}

class BodyWriter {
 public:
  BodyWriter(tp::TProtocol& out, std::mt19937& random) : out_(out), random_(random) {}

  void random_struct(uint32_t depth, int16_t first_field) {
    out_.writeStructBegin("s");
    int id = first_field;
    for (uint32_t left = below(5); left > 0; --left) {
      const auto type = any_type(depth);
      out_.writeFieldBegin("f", type, static_cast<int16_t>(id));
      value(type, depth);
      out_.writeFieldEnd();
      id += 1 + static_cast<int>(below(4) == 0 ? below(5000) : below(3));
      if (id > INT16_MAX) break;
    }
    out_.writeFieldStop();
    out_.writeStructEnd();
  }
  void nested(uint32_t structs) {
    out_.writeStructBegin("s");
    if (structs > 1) {
      out_.writeFieldBegin("f", tp::T_STRUCT, 1);
      nested(structs - 1);
    } else {
      out_.writeFieldBegin("f", tp::T_I32, 1);
      out_.writeI32(7);
    }
    out_.writeFieldEnd();
    out_.writeFieldStop();
    out_.writeStructEnd();
  }
  void one_string(uint32_t bytes, int16_t field) {
    out_.writeStructBegin("s");
    out_.writeFieldBegin("f", tp::T_STRING, field);
    out_.writeBinary(std::string(bytes, 'x'));
    out_.writeFieldEnd();
    out_.writeFieldStop();
    out_.writeStructEnd();
  }
  void list_of_structs(uint32_t count) {
    out_.writeStructBegin("s");
    out_.writeFieldBegin("f", tp::T_LIST, 1);
    out_.writeListBegin(tp::T_STRUCT, count);
    for (uint32_t i = 0; i < count; ++i) {
      out_.writeStructBegin("s");
      out_.writeFieldBegin("f", tp::T_I32, 1);
      out_.writeI32(static_cast<int32_t>(i));
      out_.writeFieldEnd();
      out_.writeFieldBegin("f", tp::T_STRING, 2);
      out_.writeString("0123456789");
      out_.writeFieldEnd();
      out_.writeFieldStop();
      out_.writeStructEnd();
    }
    out_.writeListEnd();
    out_.writeFieldEnd();
    out_.writeFieldStop();
    out_.writeStructEnd();
  }
  void list_of_numbers(uint32_t count) {
    out_.writeStructBegin("s");
    out_.writeFieldBegin("f", tp::T_LIST, 1);
    out_.writeListBegin(tp::T_I64, count);
    for (uint32_t i = 0; i < count; ++i) out_.writeI64(int64_t{i} * i);
    out_.writeListEnd();
    out_.writeFieldEnd();
    out_.writeFieldStop();
    out_.writeStructEnd();
  }

 private:
  uint32_t below(uint32_t bound) {
    return std::uniform_int_distribution<uint32_t>(0, bound - 1)(random_);
  }
  int64_t number() {  // with a random number of significant bits
    const auto bits = static_cast<int>(below(64));
    const auto value = static_cast<int64_t>(uint64_t{random_()} << 32 ^ random_());
    return value >> bits;
  }
  tp::TType any_type(uint32_t depth) {
    constexpr tp::TType kTypes[] = {tp::T_BOOL, tp::T_BYTE, tp::T_DOUBLE, tp::T_I16,
                                    tp::T_I32,  tp::T_I64,  tp::T_STRING, tp::T_STRUCT,
                                    tp::T_MAP,  tp::T_SET,  tp::T_LIST};
    return kTypes[below(depth < kDepthMax ? 11 : 7)];
  }
  // Returns a type for the keys of a map: a scalar, because JSON writes the keys as strings.
  tp::TType key_type() {
    constexpr tp::TType kTypes[] = {tp::T_BOOL, tp::T_BYTE, tp::T_I16,
                                    tp::T_I32,  tp::T_I64,  tp::T_STRING};
    return kTypes[below(6)];
  }
  uint32_t count() { return below(8) == 0 ? below(40) : below(4); }

  void text() {
    std::string text;
    for (uint32_t left = below(20); left > 0; --left) {
      constexpr std::string_view kLetters = "ab\"\\/{}[],:\n\t\x01\x1f 0\x7f\xc3\xa4";
      text += kLetters[below(kLetters.size())];
    }
    if (below(2) == 0) {
      out_.writeString(text);
    } else {
      out_.writeBinary(text);
    }
  }

  void elements(tp::TType type, uint32_t count, uint32_t depth) {
    for (; count > 0; --count) value(type, depth + 1);
  }

  void value(tp::TType type, uint32_t depth) {
    switch (type) {
      case tp::T_BOOL:
        out_.writeBool(below(2) == 0);
        break;
      case tp::T_BYTE:
        out_.writeByte(static_cast<int8_t>(number()));
        break;
      case tp::T_DOUBLE:
        out_.writeDouble(static_cast<double>(number()) / 3);
        break;
      case tp::T_I16:
        out_.writeI16(static_cast<int16_t>(number()));
        break;
      case tp::T_I32:
        out_.writeI32(static_cast<int32_t>(number()));
        break;
      case tp::T_I64:
        out_.writeI64(number());
        break;
      case tp::T_STRING:
        text();
        break;
      case tp::T_STRUCT:
        random_struct(depth + 1, static_cast<int16_t>(below(3)));
        break;
      case tp::T_LIST: {
        const auto element = any_type(depth + 1);
        const auto elements_left = count();
        out_.writeListBegin(element, elements_left);
        elements(element, elements_left, depth);
        out_.writeListEnd();
        break;
      }
      case tp::T_SET: {
        const auto element = any_type(depth + 1);
        const auto elements_left = count();
        out_.writeSetBegin(element, elements_left);
        elements(element, elements_left, depth);
        out_.writeSetEnd();
        break;
      }
      default: {
        const auto key = key_type(), mapped = any_type(depth + 1);
        uint32_t left = count();
        out_.writeMapBegin(key, mapped, left);
        for (; left > 0; --left) value(key, depth + 1), value(mapped, depth + 1);
        out_.writeMapEnd();
      }
    }
  }

  tp::TProtocol& out_;
  std::mt19937& random_;
};

}  // namespace

std::string stock_message(const Dialect& dialect, const StockHead& head, const Body& body,
                          std::mt19937& random, const StockHeaders& headers) {
  const auto memory = std::make_shared<tt::TMemoryBuffer>(std::make_shared<TConfiguration>());
  const auto out = protocol(dialect, memory);
  if (const auto header = std::dynamic_pointer_cast<tp::THeaderProtocol>(out)) {
    for (const auto& [key, value] : headers) header->setHeader(key, value);
  }
  out->setRecurisionLimit(1000);
  out->writeMessageBegin(head.name, static_cast<tp::TMessageType>(head.type), head.seqid);
  BodyWriter writer(*out, random);
  switch (body.kind) {
    case Body::Kind::kEmpty:
      out->writeStructBegin("s");
      out->writeFieldStop();
      out->writeStructEnd();
      break;
    case Body::Kind::kRandom:
      writer.random_struct(0, body.first_field);
      break;
    case Body::Kind::kNested:
      writer.nested(body.size);
      break;
    case Body::Kind::kString:
      writer.one_string(body.size, body.first_field);
      break;
    case Body::Kind::kStructs:
      writer.list_of_structs(body.size);
      break;
    case Body::Kind::kNumbers:
      writer.list_of_numbers(body.size);
      break;
  }
  out->writeMessageEnd();
  out->getTransport()->writeEnd();
  out->getTransport()->flush();
  return memory->getBufferAsString();
}

std::optional<StockException> stock_exception(const Dialect& dialect, std::string_view bytes) {
  try {
    const auto memory = memory_over(bytes);
    const auto in = protocol(dialect, memory);
    StockException read;
    tp::TMessageType type;
    in->readMessageBegin(read.name, type, read.seqid);
    if (type != tp::T_EXCEPTION) return std::nullopt;
    apache::thrift::TApplicationException exception;
    exception.read(in.get());
    in->readMessageEnd();
    in->getTransport()->readEnd();
    read.code = exception.getType();
    read.text = exception.what();
    read.bytes_left = memory->available_read();
    return read;
  } catch (const apache::thrift::TException&) {
    return std::nullopt;
  }
}

std::optional<size_t> stock_message_bytes(Encoding encoding, std::string_view bytes) {
  try {
    const auto memory = memory_over(bytes);
    const auto in =
        protocol({"", Framing::kUnframed, encoding}, memory, static_cast<int32_t>(bytes.size()));
    std::string name;
    tp::TMessageType type;
    int32_t seqid = 0;
    in->readMessageBegin(name, type, seqid);
    in->skip(tp::T_STRUCT);
    in->readMessageEnd();
    return bytes.size() - memory->available_read();
  } catch (const apache::thrift::TException&) {
    return std::nullopt;
  }
}

}  // namespace hat::thrift
