// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply.h: writes the reply by which the daemon reports an error to a
// caller: a TApplicationException in the framing and encoding of the caller's request.
//
// Some clients (Go, Rust, Node) accept a reply only if it has the request's sequence id and
// function name, without a service name. The reply takes both from the head of the request. The
// reply to a request in old binary is in strict binary, because stock servers do the same. The
// reply to a THeader request repeats the protocol id, the flags and the header's sequence id of the
// request, and has no transforms.
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

inline constexpr size_t kExceptionTextBytesMax = 512;  // a longer exception text is cut

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
