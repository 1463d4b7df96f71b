// SPDX-License-Identifier: Apache-2.0
// config/signature.h: the signatures of functions, which are the types of their arguments as
// encoded on the wire. hintgen writes signatures into manifests. A daemon that restricts which
// functions a peer may call checks the peer's requests against the signatures. For example:
//
//   services:
//     HatKV:
//       functions:
//         put: {arguments: {1: string, 2: "list<Pair>"}}
//       types:
//         Pair: {1: required string, 2: Value, 3: required Colour}
//         Value: {union: {1: binary, 2: i64}}
//         Colour: {enum: [0, 1, 4]}
//
// A type is bool, i8, i16, i32, i64, double, string (UTF-8), binary, uuid, list<T>, set<T>,
// map<K,V>, or a name from the service's `types`: a struct or exception, a union, or an enum.
// Typedefs are replaced by their types. A struct can contain itself. An enum is an i32 on the wire.
// For a required field, hintgen writes the name of the enum, because a value that the IDL does not
// define could make a server fail. For other fields of an enum type, hintgen writes i32.
//
// Source: Apache Thrift's doc/specs (binary and compact protocol) for the types that a header can
//         name; doc/specs/idl.md for the meaning of `required` and `union`.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace hat {

enum class WireType : uint8_t {
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kDouble,
  kString,
  kUuid,
  kStruct,
  kList,
  kSet,
  kMap,
};

struct TypeSpec {
  WireType wire = WireType::kBool;
  bool is_text = false;              // for kString: true if it must be UTF-8, false if binary
  std::optional<size_t> named = {};  // for a struct, union or enum: index in the service's types
  std::vector<TypeSpec> elements;    // for kList and kSet: one type; for kMap: key and value

  friend bool operator==(const TypeSpec&, const TypeSpec&) = default;
};

struct FieldSpec {
  int16_t id = 0;
  bool required = false;
  TypeSpec type;

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};
using FieldSpecs = std::vector<FieldSpec>;  // ordered by id; each id occurs once

struct NamedType {
  enum class Kind : uint8_t { kStruct, kUnion, kEnum };  // exceptions are structs

  std::string name;
  Kind kind = Kind::kStruct;
  FieldSpecs fields;                 // for kStruct and kUnion
  std::vector<int32_t> values = {};  // for kEnum: in ascending order, each value once

  friend bool operator==(const NamedType&, const NamedType&) = default;
};
using NamedTypes = std::vector<NamedType>;

// The maximum nesting of containers in the text of a type.
inline constexpr int kTypeNestingMax = 64;

// Parses a type. `types` are the types of the service; only their names and kinds are used.
Result<TypeSpec> parse_type(std::string_view text, const NamedTypes& types);
// Parses a type that can begin with "required", such as "required i32". The id of the result is
// not set.
Result<FieldSpec> parse_field(std::string_view text, const NamedTypes& types);
std::string to_string(const TypeSpec& type, const NamedTypes& types);
std::string to_string(const FieldSpec& field, const NamedTypes& types);
// Returns true if `word` is the name of a built-in type of Thrift. No struct may have such a name.
bool is_type_word(std::string_view word);

// Inserts the field in the order of ids. Returns false if a field with this id exists.
bool add_field(FieldSpecs& fields, FieldSpec field);
// Inserts a value of an enum in ascending order. Returns false if the value exists.
bool add_value(std::vector<int32_t>& values, int32_t value);
// Returns the field with this id, or nullptr if there is none.
inline const FieldSpec* find_field(const FieldSpecs& fields, int id) {
  const auto at = std::ranges::lower_bound(fields, id, {}, &FieldSpec::id);
  return at == fields.end() || at->id != id ? nullptr : &*at;
}

}  // namespace hat
