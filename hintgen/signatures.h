// SPDX-License-Identifier: Apache-2.0
// hintgen/signatures.h: makes the types of functions' arguments, as encoded on the wire, for the
// manifest (config/signature.h).
#pragma once

#include <deque>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>

#include "config/signature.h"
#include "hintgen/load.h"

namespace hat::hintgen {

// The signatures of one service: the arguments of its functions, and the types that they use.
// Leaves out a field of unknown type (a warning has named the type), and a field whose type nests
// deeper than kTypeNestingMax.
class Signatures {
 public:
  // Requires files without errors; `idl` must outlive this object.
  explicit Signatures(const Idl& idl);

  FieldSpecs arguments_of(const Function& function) { return fields_of(function.arguments); }
  // Returns the types that all arguments so far have used, in the order of first use, and starts
  // anew. A type of an included file is prefixed with the name of that file: `shared.SharedStruct`.
  NamedTypes take_types();

 private:
  FieldSpecs fields_of(const std::vector<Field>& fields);
  std::optional<TypeSpec> type_of(const Type& written, int depth);
  void describe(const Definition& definition, NamedType& named);
  size_t place_of(const Definition& definition);
  std::string unused_name(const Definition& definition);

  const Program* main_;
  std::unordered_map<const Definition*, const Program*> programs_;
  NamedTypes types_;
  std::unordered_map<const Definition*, size_t> places_;
  std::unordered_set<std::string> names_;
  std::deque<const Definition*> unread_;  // types that have an index, but no fields or values yet
};

}  // namespace hat::hintgen
