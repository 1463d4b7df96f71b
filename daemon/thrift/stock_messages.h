// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/stock_messages.h: writes and reads messages with libthrift, the C++ library of
// Apache Thrift; for tests only.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <random>
#include <string>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

struct Dialect {
  std::string_view name;
  Framing framing;
  Encoding encoding;
};

inline constexpr Dialect kDialects[] = {
    {"unframed_binary", Framing::kUnframed, Encoding::kBinary},
    {"unframed_binary_old", Framing::kUnframed, Encoding::kBinaryOld},
    {"unframed_compact", Framing::kUnframed, Encoding::kCompact},
    {"unframed_json", Framing::kUnframed, Encoding::kJson},
    {"framed_binary", Framing::kFramed, Encoding::kBinary},
    {"framed_binary_old", Framing::kFramed, Encoding::kBinaryOld},
    {"framed_compact", Framing::kFramed, Encoding::kCompact},
    {"framed_json", Framing::kFramed, Encoding::kJson},
    {"theader_binary", Framing::kHeader, Encoding::kBinary},
    {"theader_compact", Framing::kHeader, Encoding::kCompact},
    {"framed_theader_binary", Framing::kFramedHeader, Encoding::kBinary},
    {"framed_theader_compact", Framing::kFramedHeader, Encoding::kCompact},
};

struct StockHead {
  std::string name;
  MessageType type;
  int32_t seqid;
};

// The contents of a message's struct.
struct Body {
  enum class Kind : uint8_t { kEmpty, kRandom, kNested, kString, kStructs, kNumbers };
  Kind kind = Kind::kRandom;
  // For kNested: how deep structs are nested. For kString: the string's size in bytes. For
  // kStructs: the number of structs in a list, each of an i32 and a string of 10 bytes. For
  // kNumbers: the number of i64 values in a list.
  uint32_t size = 0;
  int16_t first_field = 1;  // for kRandom and kString: the lowest field id; further ids ascend
};

// The keys and values of THeader's info headers.
using StockHeaders = std::map<std::string, std::string>;

// Returns one unit, written by libthrift. `headers` is used only if has_header(dialect.framing).
std::string stock_message(const Dialect& dialect, const StockHead& head, const Body& body,
                          std::mt19937& random, const StockHeaders& headers = {});

struct StockException {
  std::string name;
  int32_t seqid;
  int32_t code;
  std::string text;
  size_t bytes_left;  // unread bytes after the unit
};

// Reads one unit with libthrift. Returns nullopt if the unit is not an exception reply.
std::optional<StockException> stock_exception(const Dialect& dialect, std::string_view bytes);

// Returns the size in bytes of the unframed message at the front of `bytes`, as libthrift reads it,
// or nullopt if libthrift throws. Only for binary (strict or old) and compact.
std::optional<size_t> stock_message_bytes(Encoding encoding, std::string_view bytes);

}  // namespace hat::thrift
