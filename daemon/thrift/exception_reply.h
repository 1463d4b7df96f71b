// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply.h: builds the reply by which the daemon reports a failed call: a
// TApplicationException in the caller's own framing and encoding.
//
// Some clients (Go, Rust, Node) insist on the exact sequence id and the *bare* function name, so
// the reply takes the id and the name from the request's head. A request in old binary gets its
// reply in strict binary, as from stock Thrift servers. A reply in THeader repeats the request's
// protocol id, flags and header sequence id, and has no transforms.
//
// Source: docs/wire.md section 2.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string_view>

#include "daemon/thrift/message.h"

namespace hat::thrift {

// The codes that Thrift defines for TApplicationException. The daemon sends no other codes, because
// clients know only these.
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

inline constexpr size_t kExceptionTextBytesMax =
    512;  // the reply has only the first bytes of a longer text

// Holds the reply's bytes in a buffer of fixed size, so that an answer needs no allocation.
class ExceptionReply {
 public:
  ExceptionReply(const Head& request, ExceptionCode code, std::string_view text);
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  // JSON may need six bytes, \u00xx, for each byte of the name and the text.
  std::array<std::byte, 256 + 6 * (kNameBytesMax + kExceptionTextBytesMax)> bytes_;
  size_t size_ = 0;
};

}  // namespace hat::thrift
