// SPDX-License-Identifier: Apache-2.0
// hintgen/signatures.h: makes the signatures of functions (the types of their arguments, as encoded
// on the wire), which hintgen writes into the manifest (config/signature.h).
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
// Leaves out each field of unknown type (hintgen has warned of this type before), and each field
// whose type is nested deeper than kTypeNestingMax.
class Signatures {
 public:
  // Requires files without errors; `idl` must outlive this object.
  explicit Signatures(const Idl& idl);

  FieldSpecs arguments_of(const Function& function) { return fields_of(function.arguments); }
  // Returns the types that all arguments since the last call have used, in the order of first use,
  // and forgets them. The name of a type from an included file begins with the name of that file:
  // `shared.SharedStruct`.
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
  // The types that have an index, but whose fields or values were not read yet.
  std::deque<const Definition*> unread_;
};

}  // namespace hat::hintgen
