// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/message.h: the parts of a Thrift message that the daemon reads: its framing, its
// encoding and its head (type, name and sequence id).
//
// Thrift calls an Encoding a "protocol", and a Framing a "transport". In this project, these two
// words have other meanings.
#pragma once

#include <cstdint>
#include <string_view>

namespace hat::thrift {

struct TraceContext;

enum class Framing : uint8_t {
  kUnframed,
  kFramed,        // a length of 4 bytes, then messages (usually one)
  kHeader,        // THeader: length, magic 0x0fff, flags, seqid, header words, then a message
  kFramedHeader,  // TFramedTransport under THeader: a length, then all of kHeader
};

constexpr bool has_header(Framing framing) {
  return framing == Framing::kHeader || framing == Framing::kFramedHeader;
}

// Returns the size in bytes of the length words at the start of a unit.
constexpr uint32_t length_bytes(Framing framing) {
  if (framing == Framing::kUnframed) return 0;
  return framing == Framing::kFramedHeader ? 8 : 4;
}

enum class Encoding : uint8_t {
  kBinary,     // TBinaryProtocol, strict: version word first
  kBinaryOld,  // TBinaryProtocol, non-strict: name length first
  kCompact,
  kJson,
};

// Thrift's TMessageType, with its values on the wire.
enum class MessageType : uint8_t { kCall = 1, kReply = 2, kException = 3, kOneway = 4 };

// How a call ended, as the type of the reply and the first field of its struct show.
enum class Outcome : uint8_t {
  kSuccess,               // the field 0, or no field (a void function)
  kDeclaredException,     // a field of the function's `throws`
  kApplicationException,  // TApplicationException
};

// The longest name, in bytes. A message with a longer name makes its stream opaque.
inline constexpr uint32_t kNameBytesMax = 255;

// The first bytes of a message in JSON: the list's bracket, version 1, and the name's opening
// quote.
inline constexpr std::string_view kJsonStart = "[1,\"";

struct Head {
  Framing framing = Framing::kUnframed;
  Encoding encoding = Encoding::kBinary;
  MessageType type = MessageType::kCall;
  int32_t seqid = 0;
  std::string_view name;  // as on the wire ("Service:method" if multiplexed); owned by the reader

  // The size of the whole frame in bytes, with its length words; 0 if kUnframed.
  uint32_t frame_bytes = 0;

  // Set only if has_header(framing). A reply repeats both values.
  uint16_t header_flags = 0;
  uint32_t header_seqid = 0;
  // The time in milliseconds that the client waits for the reply, from the info header
  // `client_timeout`; 0 if there is none. Set only if has_header(framing).
  uint32_t client_timeout_ms = 0;
  // The trace context in the info header `traceparent`, owned by the reader; null if there is none.
  // And the offset in the unit of the first byte of its text.
  const TraceContext* trace = nullptr;
  uint32_t trace_at = 0;
};

// Returns "method" for "Service:method", and a name without a prefix unchanged. Apache Thrift's
// servers reply with the name without the prefix.
constexpr std::string_view bare_name(std::string_view name) {
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? name : name.substr(colon + 1);
}

// Returns "Service" for "Service:method", and an empty text for a name without a prefix.
constexpr std::string_view service_prefix(std::string_view name) {
  const auto colon = name.find(':');
  return colon == std::string_view::npos ? std::string_view() : name.substr(0, colon);
}

// Returns the FNV-1a hash of a function's name, which is the same in every process. Pass the name
// without a service prefix.
constexpr uint64_t name_hash(std::string_view name) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char one : name) hash = (hash ^ static_cast<uint8_t>(one)) * 0x100000001b3;
  return hash;
}

}  // namespace hat::thrift
