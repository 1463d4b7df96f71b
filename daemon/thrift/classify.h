// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.h: classifies a unit (a Thrift frame, or an unframed message) by its first
// bytes: as a Thrift message in a known framing and encoding, as an empty frame, or as opaque
// (bytes of another protocol, which the daemon passes on unread).
//
// classify() decides as soon as the bytes allow only one answer. If it waited for more, the daemon
// would hold back a short greeting of another protocol, and wait for bytes that never arrive.
// docs/wire.md section 1.1 has the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// The largest length in bytes that a Thrift frame may have, without its length word. classify()
// does not accept a larger number as a frame's length.
inline constexpr uint32_t kFrameBytesMax = 0x3fffffff;
// The number of first bytes of a unit with which classify() always decides.
inline constexpr size_t kDecisiveBytesMax = 10;

struct Classification {
  enum class Kind : uint8_t { kUndecided, kMessage, kEmptyFrame, kOpaque };

  Kind kind = Kind::kUndecided;
  Framing framing = Framing::kUnframed;   // set for kMessage; kFramed for kEmptyFrame
  Encoding encoding = Encoding::kBinary;  // set for kMessage, unless has_header(framing)
  std::string_view opaque_reason;         // set for kOpaque, as in MessageReader::opaque_reason()
};

// Classifies a unit. `first` has the bytes of the unit that have arrived, or at least the first
// kDecisiveBytesMax of them. Returns kUndecided if more bytes are needed. More bytes do not change
// any other result.
Classification classify(std::span<const uint8_t> first);

}  // namespace hat::thrift
