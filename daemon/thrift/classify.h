// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.h: tells from a unit's first bytes what the unit is.
//
// Decides with as few bytes as are decisive, so that a short greeting of another protocol is never
// held back for bytes that do not come. docs/wire.md section 1 has the table in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// A frame's length on the wire, its length word left out. More is not a frame.
inline constexpr uint32_t kFrameBytesMax = 0x3fffffff;
// No unit needs more bytes than these to be classified.
inline constexpr size_t kDecisiveBytesMax = 10;

struct Classification {
  enum class Kind : uint8_t { kUndecided, kMessage, kEmptyFrame, kOpaque };

  Kind kind = Kind::kUndecided;
  Framing framing = Framing::kUnframed;   // kMessage
  Encoding encoding = Encoding::kBinary;  // kMessage, unless has_header(framing)
  std::string_view opaque_reason;         // kOpaque; see MessageReader::opaque_reason
};

// `first` are the unit's bytes from its first. More bytes never change a decision.
Classification classify(std::span<const uint8_t> first);

}  // namespace hat::thrift
