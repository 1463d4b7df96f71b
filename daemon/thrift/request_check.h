// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check.h: decides whether stock servers read a request the way we do.
//
// Generated code reads a struct by its IDL: a list<string> whose header says list<i64> is read as
// strings all the same. A request that says one thing to a reader of the wire and another to a
// reader of the IDL can hide a second call in its arguments. So a request of a caller who may not
// call everything is held against the types in the manifest, and against the one spelling that
// stock clients use: what is left has one meaning in every stock server.
//
// Memory   no allocation; the request lies whole in memory that no peer can change.
// Thread   none of its own.
// Source   Apache Thrift's doc/specs; the generated readers of C++, Java, Go, Python and Node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "config/signature.h"
#include "daemon/thrift/message.h"

namespace hat::thrift {

enum class RequestFault : uint8_t {
  kTooLarge,        // more bytes than are held to be checked
  kNotOneMessage,   // no whole message, or more than one
  kUnusualHead,     // type, name or a number is spelt as no stock client spells it
  kWrongTransport,  // not the one that the server is known to read
  kNotAllowed,      // the peer may not call the function
  kNotListed,       // the manifest does not have the function with its arguments
  kMalformed,       // its struct ends too early, too late, or has a token that cannot be
  kWrongType,       // a field or element has another type than in the manifest
  kUnknownField,    // a field that the manifest does not have
};
inline constexpr std::array<const char*, 9> kRequestFaultNames = {
    "too_large",  "not_one_message", "unusual_head", "wrong_transport", "not_allowed",
    "not_listed", "malformed",       "wrong_type",   "unknown_field"};

// The message's head is spelt as stock clients spell it, byte for byte. `envelope`: the unit up to
// the message's struct; `head`: what a MessageReader made of it.
bool is_usual_head(std::span<const std::byte> envelope, const Head& head);

struct ArgumentTypes {
  const FieldSpecs& arguments;
  const StructSpecs& structs;
  bool allow_unknown_fields;  // scalars and strings alone
};

struct BodyFault {
  RequestFault fault;
  int field;  // the id of the innermost field at the fault; 0 before the first one

  friend bool operator==(const BodyFault&, const BodyFault&) = default;
};

// `body`: the message's struct, and what ends the message in JSON; no byte more. Nothing: all of it
// has exactly these types.
std::optional<BodyFault> check_body(Encoding encoding, std::span<const std::byte> body,
                                    const ArgumentTypes& types);

}  // namespace hat::thrift
