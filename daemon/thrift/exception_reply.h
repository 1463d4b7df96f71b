// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply.h: a TApplicationException in the caller's own framing and
// encoding.
//
// Some clients insist on the exact sequence id and the *bare* function name (Go, Rust, Node), so
// both come from the request's head. Old binary is answered in strict binary, as stock servers do.
// A THeader answer repeats the caller's protocol id, flags and header sequence id, without
// transforms.
//
// Source: docs/wire.md section 2.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// TApplicationException's own codes; never others, since clients know only these.
enum class ExceptionCode : int32_t {
  kUnknown = 0,
  kUnknownMethod = 1,
  kInvalidMessageType = 2,
  kWrongMethodName = 3,
  kBadSequenceId = 4,
  kMissingResult = 5,
  kInternalError = 6,
  kProtocolError = 7,
  kInvalidTransform = 8,
  kInvalidProtocol = 9,
  kUnsupportedClientType = 10,
};

inline constexpr size_t kExceptionTextBytesMax = 512;  // longer texts are cut

// The reply's bytes. Fixed size, so that answering needs no memory.
class ExceptionReply {
 public:
  ExceptionReply(const Head& request, ExceptionCode code, std::string_view text);
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  // JSON may spell each byte of name and text as \u00xx.
  std::array<std::byte, 256 + 6 * (kNameBytesMax + kExceptionTextBytesMax)> bytes_;
  size_t size_ = 0;
};

}  // namespace hat::thrift
