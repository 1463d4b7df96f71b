// SPDX-License-Identifier: Apache-2.0
// hintgen/signatures.h: the types of functions' arguments as they stand on the wire, for the
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

// Of one service: its functions' arguments, and the types that these are made of. A field whose
// type is not known is left out (a warning has named the type), and so is one whose type nests
// deeper than kTypeNestingMax.
class Signatures {
 public:
  // Only for files without mistakes; `idl` must outlive this.
  explicit Signatures(const Idl& idl);

  FieldSpecs arguments_of(const Function& function) { return fields_of(function.arguments); }
  // What all arguments so far have used, in the order of first use. Types of included files have
  // the file's name in front: `shared.SharedStruct`.
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
  std::deque<const Definition*> unread_;  // they have a place, and nothing in it yet
};

}  // namespace hat::hintgen
