// SPDX-License-Identifier: Apache-2.0
// daemon/thrift/request_check.h: checks that a server will read a request in the same way as the
// daemon has read it. The daemon checks each request of a restricted peer, so that no request can
// hide a call of a function that the peer may not call.
//
// A server's generated code reads a struct by the types in the IDL. For example, it reads a field
// of type list<string> as strings even if the bytes say list<i64>. If these types differ, a request
// can hide a second call in its arguments. The daemon therefore requires
//   - the types of the manifest
//   - the one spelling of numbers and heads that Apache Thrift's clients use
//   - no content that makes a server stop in the middle of the request, because some servers then
//     read the rest as another message: a union with two fields, a struct without a required field,
//     text that is not UTF-8
//
// Memory   One bit for each field of the structs that are open at once. The caller must hold the
//          whole request in memory that no peer can change.
// Thread   Any thread may use these functions.
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
  kTooLarge,       // the request has more bytes than the daemon holds for the check
  kNotOneMessage,  // the request is not a whole message, or is more than one
  kUnusualHead,  // the type, the name or a number is not spelt as Apache Thrift's clients spell it
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

// Returns true if Apache Thrift's clients would write `head` as exactly the bytes in `envelope`.
// `envelope` has the bytes before the message's struct; `head` is what a MessageReader has read
// from them.
bool is_usual_head(std::span<const std::byte> envelope, const Head& head);

struct ArgumentTypes {
  const FieldSpecs& arguments;
  const NamedTypes& types;  // the types to which the arguments refer by name
  // True if structs in the request may have fields that the manifest does not list. Such a field
  // must have an id above 0, and may be a scalar or a string, but not a struct, a container or a
  // uuid.
  bool allow_unknown_fields;
};

struct BodyFault {
  RequestFault fault;
  int field;  // id of the innermost field with the fault; 0 if the fault is not in a field

  friend bool operator==(const BodyFault&, const BodyFault&) = default;
};

// Compares the arguments of a request with `types`. `body` must have the bytes of the message after
// the head: the struct and, in JSON, the bracket that ends the message. Returns the first fault, or
// nullopt if there is none.
std::optional<BodyFault> check_body(Encoding encoding, std::span<const std::byte> body,
                                    const ArgumentTypes& types);

}  // namespace hat::thrift
