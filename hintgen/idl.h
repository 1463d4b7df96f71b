// SPDX-License-Identifier: Apache-2.0
// hintgen/idl.h: represents a Thrift IDL file, including hints, as a tree of plain data.
//
// The parser sets all members except those whose comment says "set by": load(), resolve() or
// read_hints() sets these later. The nodes of a tree never move in memory after a file is parsed,
// so a member can point into the tree of another file.
//
// Source: Apache Thrift's IDL (0.17 and later); HatRPC (SC'21) Figure 7 for hint groups.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "config/hints.h"
#include "hintgen/source.h"

namespace hat::hintgen {

// The maximum nesting of brackets of all kinds. It also bounds the nesting of types and values.
inline constexpr int kNestingMax = 64;

// A word, or the unescaped text of a literal, with its position in the file.
struct Name {
  std::string text;
  Span at;
};

struct Annotation {
  Name key;
  std::optional<Name> value;  // nullopt if not written; Thrift then uses "1"
  Span at;                    // the whole annotation, including the separator after it
};

// ( key = "value", … ) after a definition, type, field or function.
struct Annotations {
  std::vector<Annotation> items;
  Span at;  // including both brackets; empty if there are none
};

struct Hint {
  Name key;
  Name value;  // as written; unescaped if it was quoted
};

// `hint: key=value, …;`
struct HintGroup {
  Name word;  // the word before the colon; an error is reported unless it is hint, c_hint or s_hint
  std::vector<Hint> hints;
  Span at;
};

enum class TypeKind : uint8_t {
  kVoid,
  kBool,
  kI8,
  kI16,
  kI32,
  kI64,
  kDouble,
  kString,
  kBinary,
  kUuid,
  kMap,
  kSet,
  kList,
  kNamed,
};

struct Definition;

struct Type {
  TypeKind kind = TypeKind::kVoid;
  Name name;                   // as written: `i32`, `map`, `inc.Thing`
  std::vector<Type> elements;  // of a list or set: one type; of a map: key and value
  std::optional<Name> cpp_type;
  Annotations annotations;

  // For kNamed, set by resolve(): the definition of the name, or nullptr if the name is unknown.
  const Definition* definition = nullptr;
};

struct ConstValue {
  enum class Kind : uint8_t { kInteger, kDouble, kLiteral, kName, kList, kMap };

  Kind kind = Kind::kInteger;
  int64_t integer = 0;
  double number = 0;
  Name text;                      // of kLiteral (unescaped) and kName
  std::vector<ConstValue> items;  // of kList; of kMap: key, value, key, value, …
  Span at;
};

enum class Requiredness : uint8_t { kDefault, kRequired, kOptional };

struct FieldId {
  int64_t value = 0;
  Span at;
};

struct Field {
  std::optional<FieldId> written_id;
  // The id as written, if it is positive. Fields without a positive id get -1, -2, …, as in the
  // Thrift compiler.
  int64_t id = 0;
  Requiredness requiredness = Requiredness::kDefault;
  Span requiredness_at;
  Type type;
  bool reference = false;  // true if '&' follows the type
  Name name;
  std::optional<ConstValue> value;
  bool xsd_optional = false;
  bool xsd_nillable = false;
  std::vector<Field> xsd_attributes;
  Annotations annotations;
};

struct Function {
  bool oneway = false;
  std::optional<Span> async_at;  // the position of `async`, the old word for oneway
  Type result;
  Name name;
  std::vector<Field> arguments;
  std::vector<Field> exceptions;
  Span signature;  // from the result type to the last ')', throws clause and annotations
  Annotations annotations;
  Span separator;        // ',' or ';' between signature and hint block; empty if absent
  Span hint_block;       // '[' … ']'; empty if absent
  Span block_separator;  // ',' or ';' after the hint block; empty if absent
  std::vector<HintGroup> groups;

  HintGroups hints;  // set by read_hints()
};

struct Service {
  Name name;
  std::optional<Name> extends;
  std::vector<Function> functions;
  std::vector<HintGroup> groups;
  Annotations annotations;
  Span closing_brace;

  const Service* parent = nullptr;  // set by resolve(): the service that `extends` names
  HintGroups hints;                 // set by read_hints(): without the hints of the parent
};

struct Struct {
  enum class Kind : uint8_t { kStruct, kUnion, kException };
  Kind kind = Kind::kStruct;
  Name name;
  bool xsd_all = false;
  std::vector<Field> fields;
  Annotations annotations;
};

struct EnumMember {
  Name name;
  std::optional<int64_t> written_value;
  Annotations annotations;
  int64_t value = 0;  // as written, or the previous member's value plus one
};

struct Enum {
  Name name;
  std::vector<EnumMember> members;
  Annotations annotations;
};

struct Typedef {
  Name name;
  Type type;
  Annotations annotations;

  // Set by resolve(): the type that is left after all typedefs are followed, or nullptr if this
  // type is unknown.
  const Type* meaning = nullptr;
};

struct Const {
  Name name;
  Type type;
  ConstValue value;
};

struct Definition {
  std::variant<Const, Typedef, Enum, Struct, Service> value;

  const Name& name() const {
    return std::visit([](const auto& it) -> const Name& { return it.name; }, value);
  }
};

struct Program;

struct Include {
  Name path;  // as written

  // Set by load(): the included file, or nullptr if the file does not exist, or if hintgen reported
  // an error in place of reading the file (`refused`).
  const Program* program = nullptr;
  bool refused = false;
};

struct Namespace {
  Name scope;  // `cpp`, `py`, …, or `*`
  Name name;
  Annotations annotations;
};

// One parsed file.
struct Program {
  std::shared_ptr<const SourceFile> source;
  std::string name;  // program_name() of the file's path
  std::vector<Include> includes;
  std::vector<Name> cpp_includes;
  std::vector<Namespace> namespaces;
  std::vector<std::unique_ptr<Definition>> definitions;
  std::vector<Span> comments;  // in the order of the file
  bool complete = true;  // false after a syntax error, because definitions may be missing then
};

}  // namespace hat::hintgen
