// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.h: finds out from the first bytes of a unit (a frame or an unframed Thrift
// message) which framing and encoding the unit has, or that the bytes are not Thrift.
//
// classify() decides as soon as the bytes allow only one answer. Otherwise the daemon would hold
// back a short greeting of another protocol and wait for further bytes that never arrive.
// docs/wire.md section 1.1 has the table of first bytes in words.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// The largest length of a frame, without the length word itself. A larger number at the start of a
// unit is not the length of a frame.
inline constexpr uint32_t kFrameBytesMax = 0x3fffffff;
// The number of bytes of a unit that are always enough for classify() to decide.
inline constexpr size_t kDecisiveBytesMax = 10;

struct Classification {
  enum class Kind : uint8_t { kUndecided, kMessage, kEmptyFrame, kOpaque };

  Kind kind = Kind::kUndecided;
  Framing framing = Framing::kUnframed;   // set for kMessage, and kFramed for kEmptyFrame
  Encoding encoding = Encoding::kBinary;  // set for kMessage, unless has_header(framing)
  std::string_view opaque_reason;         // set for kOpaque: see MessageReader::opaque_reason()
};

// Classifies a unit by the bytes that have arrived. `first` must have all of these bytes, or at
// least the first kDecisiveBytesMax. Returns kUndecided if more bytes are needed; bytes that arrive
// later never change another result.
Classification classify(std::span<const uint8_t> first);

}  // namespace hat::thrift
