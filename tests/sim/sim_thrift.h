// SPDX-License-Identifier: Apache-2.0
// tests/sim/sim_thrift.h: encodes and decodes the Thrift messages of the simulated applications, in
// every framing and encoding that hatrpcd supports.
//
// This code shares nothing with the daemon's Thrift reader, so that each one reveals errors of the
// other. Its messages have only the field types that the simulation needs: integers and texts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "daemon/thrift/message.h"

namespace hat::sim {

using thrift::Encoding;
using thrift::Framing;
using thrift::MessageType;

struct Dialect {
  const char* name;
  Framing framing;
  Encoding encoding;
};
inline constexpr Dialect kDialects[] = {
    {"framed_binary", Framing::kFramed, Encoding::kBinary},
    {"framed_compact", Framing::kFramed, Encoding::kCompact},
    {"framed_json", Framing::kFramed, Encoding::kJson},
    {"framed_binary_old", Framing::kFramed, Encoding::kBinaryOld},
    {"unframed_binary", Framing::kUnframed, Encoding::kBinary},
    {"unframed_compact", Framing::kUnframed, Encoding::kCompact},
    {"unframed_json", Framing::kUnframed, Encoding::kJson},
    {"unframed_binary_old", Framing::kUnframed, Encoding::kBinaryOld},
    {"theader_binary", Framing::kHeader, Encoding::kBinary},
    {"theader_compact", Framing::kHeader, Encoding::kCompact},
    {"framed_theader_binary", Framing::kFramedHeader, Encoding::kBinary},
    {"framed_theader_compact", Framing::kFramedHeader, Encoding::kCompact},
};

struct Field {
  enum class Kind : uint8_t { kI32, kI64, kText };
  int16_t id = 0;
  Kind kind = Kind::kI32;
  int64_t number = 0;
  std::string text;

  friend bool operator==(const Field&, const Field&) = default;
};

struct Message {
  MessageType type = MessageType::kCall;
  std::string name;
  int32_t seqid = 0;
  std::vector<Field> fields;  // in ascending order of their ids

  const Field* find(int16_t id) const;
  friend bool operator==(const Message&, const Message&) = default;
};

std::string encode(const Dialect& dialect, const Message& message);

struct Decoded {
  enum class Kind : uint8_t { kNeedMore, kMessage, kBroken };
  Kind kind = Kind::kNeedMore;
  size_t bytes = 0;  // size of the message; if broken: of its frame, or 0 if it has no frame
  Message message;
};
// Decodes the message at the start of `bytes`. `kBinaryOld` also accepts strict binary, because
// servers reply to old binary in strict binary.
Decoded decode(const Dialect& dialect, std::string_view bytes);

// Returns the dialect of the message at the start of `bytes`, or std::nullopt if more bytes are
// needed.
std::optional<Dialect> detect(std::string_view bytes);

}  // namespace hat::sim
