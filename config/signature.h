// SPDX-License-Identifier: Apache-2.0
// config/signature.h: the types of functions' arguments, as they stand on the wire. hintgen writes
// them into manifests, and a daemon that restricts callers holds requests against them.
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
// Typedefs are resolved. Structs may contain themselves. An enum stands on the wire as an i32, and
// hintgen names it where a value that the IDL lacks could make a server give up: in required
// fields.
//
// Source: Apache Thrift's doc/specs (binary and compact protocol): the types that a header can
// name; doc/specs/idl.md: what `required` and `union` mean.
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
  bool is_text = false;              // kString: UTF-8
  std::optional<size_t> named = {};  // kStruct, kI32 of an enum: its place in the service's types
  std::vector<TypeSpec> elements;    // kList, kSet: one; kMap: key and value

  friend bool operator==(const TypeSpec&, const TypeSpec&) = default;
};

struct FieldSpec {
  int16_t id = 0;
  bool required = false;
  TypeSpec type;

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};
using FieldSpecs = std::vector<FieldSpec>;  // ordered by id, each once

struct NamedType {
  enum class Kind : uint8_t { kStruct, kUnion, kEnum };  // exceptions are structs

  std::string name;
  Kind kind = Kind::kStruct;
  FieldSpecs fields;                 // kStruct, kUnion
  std::vector<int32_t> values = {};  // kEnum: ascending, each once

  friend bool operator==(const NamedType&, const NamedType&) = default;
};
using NamedTypes = std::vector<NamedType>;

// Containers nest at most this deep in a type's text.
inline constexpr int kTypeNestingMax = 64;

// `types`: the service's, in their order; only names and kinds are looked at.
Result<TypeSpec> parse_type(std::string_view text, const NamedTypes& types);
// Also "required i32". The id is not part of the text.
Result<FieldSpec> parse_field(std::string_view text, const NamedTypes& types);
std::string to_string(const TypeSpec& type, const NamedTypes& types);
std::string to_string(const FieldSpec& field, const NamedTypes& types);
// It means one of Thrift's own types, so no struct can have this name.
bool is_type_word(std::string_view word);

// Puts the field in its place by id; returns false if there is one with this id.
bool add_field(FieldSpecs& fields, FieldSpec field);
// The same for an enum's value.
bool add_value(std::vector<int32_t>& values, int32_t value);
// The field with this id; nullptr: there is none.
inline const FieldSpec* find_field(const FieldSpecs& fields, int id) {
  const auto at = std::ranges::lower_bound(fields, id, {}, &FieldSpec::id);
  return at == fields.end() || at->id != id ? nullptr : &*at;
}

}  // namespace hat
