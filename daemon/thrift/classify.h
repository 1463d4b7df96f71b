// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.h: finds out from a unit's first bytes what the unit is.
//
// classify() decides as soon as the bytes are decisive, so that the daemon never holds back a short
// greeting of another protocol while it waits for bytes that do not arrive. docs/wire.md section
// 1.1 has the table in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// The largest length that a frame may have on the wire, without its length word. A larger number is
// not a frame's length.
inline constexpr uint32_t kFrameBytesMax = 0x3fffffff;
// classify() never needs more bytes of a unit than this.
inline constexpr size_t kDecisiveBytesMax = 10;

struct Classification {
  enum class Kind : uint8_t { kUndecided, kMessage, kEmptyFrame, kOpaque };

  Kind kind = Kind::kUndecided;
  Framing framing = Framing::kUnframed;   // set for kMessage, and kFramed for kEmptyFrame
  Encoding encoding = Encoding::kBinary;  // set for kMessage, unless has_header(framing)
  std::string_view opaque_reason;         // set for kOpaque; see MessageReader::opaque_reason
};

// Classifies a unit by its bytes so far, of which `first` has all or at least the first
// kDecisiveBytesMax. Further bytes never change a decision.
Classification classify(std::span<const uint8_t> first);

}  // namespace hat::thrift
