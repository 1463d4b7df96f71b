// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check.h: decides whether stock servers read a request the way we do.
//
// Generated code reads a struct by its IDL: a list<string> whose header says list<i64> is read as
// strings all the same. A request that says one thing to a reader of the wire and another to a
// reader of the IDL can hide a second call in its arguments. So a request of a caller who may not
// call everything is held against the types in the manifest, and against the one spelling that
// stock clients use. Nor may it hold what makes a stock server give up in its middle, since some go
// on there, and take the rest for another message: a union of two fields, a struct without a
// required one, text that is not UTF-8.
//
// Memory   a bit for each field of the structs that enclose one another; the request lies whole in
//          memory that no peer can change.
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
  kWrongProtocol,   // the same
  kNotAllowed,      // the peer may not call the function
  kNotListed,       // the manifest does not have the function with its arguments
  kMalformed,       // its struct ends too early, too late, or has a token that cannot be
  kWrongType,       // a field or element has another type than in the manifest
  kUnknownField,    // a field that the manifest does not have
  kMissingField,    // a struct lacks a required field
  kBadUnion,        // it does not have exactly one field
  kUnknownValue,    // of an enum, in a required field
  kNotUtf8,         // a string that is not text
};
inline constexpr std::array kRequestFaultNames = {
    "too_large",     "not_one_message", "unusual_head",  "wrong_transport", "wrong_protocol",
    "not_allowed",   "not_listed",      "malformed",     "wrong_type",      "unknown_field",
    "missing_field", "bad_union",       "unknown_value", "not_utf8"};

// The message's head is spelt as stock clients spell it, byte for byte. `envelope`: the unit up to
// the message's struct; `head`: what a MessageReader made of it.
bool is_usual_head(std::span<const std::byte> envelope, const Head& head);

struct ArgumentTypes {
  const FieldSpecs& arguments;
  const NamedTypes& types;    // those that the arguments name
  bool allow_unknown_fields;  // scalars and strings alone
};

struct BodyFault {
  RequestFault fault;
  int field;  // the id of the innermost field at the fault; 0 before the first one

  friend bool operator==(const BodyFault&, const BodyFault&) = default;
};

// `body`: the message's struct, and what ends the message in JSON; no byte more. Returns nothing if
// all of it is as these types say.
std::optional<BodyFault> check_body(Encoding encoding, std::span<const std::byte> body,
                                    const ArgumentTypes& types);

}  // namespace hat::thrift
