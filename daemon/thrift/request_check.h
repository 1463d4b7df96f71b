// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check.h: decides whether stock servers read a request as the daemon does.
//
// Generated code reads a struct by its IDL: it reads a list<string> whose header says list<i64> as
// strings all the same. If a request means one thing to a reader of the wire and another to a
// reader of the IDL, it can hide a second call in its arguments. The daemon therefore compares each
// request of a restricted peer with the types in the manifest, and with the one spelling that stock
// clients use. It also refuses a request that makes a stock server give up in the middle of the
// request, because some servers then continue there and take the rest for another message. Such
// requests contain for example a union of two fields, a struct without a required field, or text
// that is not UTF-8.
//
// Memory   one bit for each field of the structs that are open at once. The request is complete, in
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
  kTooLarge,        // the request has more bytes than the daemon holds for the check
  kNotOneMessage,   // the request is not a whole message, or is more than one
  kUnusualHead,     // no stock client spells the type, the name or a number in this way
  kWrongTransport,  // the server is not known to read this transport
  kWrongProtocol,   // the server is not known to read this protocol
  kNotAllowed,      // the peer may not call the function
  kNotListed,       // the manifest does not have the function with its arguments
  kMalformed,       // the struct ends too early or too late, or has an invalid token
  kWrongType,       // a field or element has another type than in the manifest
  kUnknownField,    // the manifest does not have the field
  kMissingField,    // a struct lacks a required field
  kBadUnion,        // a union does not have exactly one field
  kUnknownValue,    // an enum in a required field has a value that the manifest does not have
  kNotUtf8,         // a string is not UTF-8
};
inline constexpr std::array kRequestFaultNames = {
    "too_large",     "not_one_message", "unusual_head",  "wrong_transport", "wrong_protocol",
    "not_allowed",   "not_listed",      "malformed",     "wrong_type",      "unknown_field",
    "missing_field", "bad_union",       "unknown_value", "not_utf8"};

// Returns true if stock clients would write the head in exactly these bytes. `envelope` is the unit
// up to the message's struct; `head` is what a MessageReader has read from it.
bool is_usual_head(std::span<const std::byte> envelope, const Head& head);

struct ArgumentTypes {
  const FieldSpecs& arguments;
  const NamedTypes& types;    // the types that the arguments refer to by name
  bool allow_unknown_fields;  // only scalars and strings, not structs, containers or uuids
};

struct BodyFault {
  RequestFault fault;
  int field;  // the id of the innermost field at the fault; 0 before the first field

  friend bool operator==(const BodyFault&, const BodyFault&) = default;
};

// Compares a request's arguments with `types`. `body` is the message's struct, with the bracket
// that ends a message in JSON, and nothing after it. Returns nullopt if all of it agrees.
std::optional<BodyFault> check_body(Encoding encoding, std::span<const std::byte> body,
                                    const ArgumentTypes& types);

}  // namespace hat::thrift
