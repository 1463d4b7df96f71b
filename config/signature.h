// SPDX-License-Identifier: Apache-2.0
// config/signature.h: the types of functions' arguments, as they stand on the wire. hintgen writes
// them into manifests, and a daemon that restricts callers holds requests against them.
//
//   services:
//     HatKV:
//       functions:
//         put: {arguments: {1: string, 2: "list<Pair>"}}
//       types:
//         Pair: {1: string, 2: i64}
//
// A type is bool, i8, i16, i32, i64, double, string, uuid, list<T>, set<T>, map<K,V>, or the name
// of a struct, union or exception in the service's `types`. On the wire binary is a string and an
// enum an i32; typedefs are resolved. So structs may contain themselves.
//
// Source: Apache Thrift's doc/specs (binary and compact protocol): the types that a header can
// name.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
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
  size_t structure = 0;            // kStruct: its place in the service's types
  std::vector<TypeSpec> elements;  // kList, kSet: one; kMap: key and value

  friend bool operator==(const TypeSpec&, const TypeSpec&) = default;
};

struct FieldSpec {
  int16_t id = 0;
  TypeSpec type;

  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};
using FieldSpecs = std::vector<FieldSpec>;  // ordered by id, each once

struct StructSpec {
  std::string name;
  FieldSpecs fields;

  friend bool operator==(const StructSpec&, const StructSpec&) = default;
};
using StructSpecs = std::vector<StructSpec>;

// Containers nest at most this deep in a type's text.
inline constexpr int kTypeNestingMax = 64;

// `names`: of the service's types, in their order.
Result<TypeSpec> parse_type(std::string_view text, std::span<const std::string> names);
std::string to_string(const TypeSpec& type, const StructSpecs& structs);
// It means one of Thrift's own types, so no struct can have this name.
bool is_type_word(std::string_view word);

// Puts the field in its place by id; returns false if there is one with this id.
bool add_field(FieldSpecs& fields, FieldSpec field);
// The field's type; nullptr where no field has this id.
inline const TypeSpec* find_type(const FieldSpecs& fields, int id) {
  const auto at = std::ranges::lower_bound(fields, id, {}, &FieldSpec::id);
  return at == fields.end() || at->id != id ? nullptr : &at->type;
}

}  // namespace hat
