// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/classify.h: classifies a unit (a Thrift frame, or an unframed message) by its first
// bytes: a Thrift message in a known framing and encoding, an empty frame, or bytes of another
// protocol, which the daemon passes on without reading them as Thrift (opaque).
//
// classify() decides as soon as the bytes allow only one answer. Otherwise the daemon would hold
// back a short greeting of another protocol while it waits for bytes that never arrive.
// docs/wire.md section 1.1 describes the rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// The largest length in bytes that a Thrift frame may announce in its length word. The length word
// itself does not count. classify() does not take a larger number for a frame's length.
inline constexpr uint32_t kFrameBytesMax = 0x3fffffff;
// The largest number of a unit's bytes that classify() needs for its decision.
inline constexpr size_t kDecisiveBytesMax = 10;

struct Classification {
  enum class Kind : uint8_t { kUndecided, kMessage, kEmptyFrame, kOpaque };

  Kind kind = Kind::kUndecided;
  Framing framing = Framing::kUnframed;   // set for kMessage; for kEmptyFrame always kFramed
  Encoding encoding = Encoding::kBinary;  // set for kMessage, unless has_header(framing)
  std::string_view opaque_reason;         // set for kOpaque: see MessageReader::opaque_reason()
};

// Classifies a unit by the bytes that have arrived. `first` has all of these bytes, or at least the
// first kDecisiveBytesMax. Returns kUndecided if more bytes are needed. Any other result stays the
// same when more bytes arrive.
Classification classify(std::span<const uint8_t> first);

}  // namespace hat::thrift
