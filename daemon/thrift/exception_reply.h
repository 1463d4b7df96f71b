// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/exception_reply.h: builds the reply by which the daemon reports that a call failed:
// a TApplicationException in the framing and encoding of the request.
//
// Some clients (Go, Rust, Node) require the exact sequence id and the function's name without a
// service prefix; the reply takes both from the request's head. A request in old (non-strict)
// binary gets a reply in strict binary, as from Apache Thrift's servers. A reply in THeader repeats
// the request's protocol id, flags and header sequence id, and has no transforms.
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

inline constexpr size_t kExceptionTextBytesMax = 512;  // longer texts are cut

// An exception reply. Its buffer has a fixed size, so that a reply needs no memory allocation.
class ExceptionReply {
 public:
  ExceptionReply(const Head& request, ExceptionCode code, std::string_view text);
  std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }

 private:
  // In JSON, each byte of the name and the text can take six bytes (\u00xx).
  std::array<std::byte, 256 + 6 * (kNameBytesMax + kExceptionTextBytesMax)> bytes_;
  size_t size_ = 0;
};

}  // namespace hat::thrift
