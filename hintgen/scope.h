// SPDX-License-Identifier: Apache-2.0
// hintgen/scope.h: finds the definition of a name that an IDL file uses. The name is defined in
// this file (`Name`) or in a file that it includes (`include.Name`).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hintgen/load.h"

namespace hat::hintgen {

class Scopes {
 public:
  // Collects the names that the files of `idl` define. `idl` must outlive this object. If a file
  // has two definitions with the same name, the first definition is used.
  explicit Scopes(const Idl& idl);

  // Returns the type or service with this name, or nullptr if there is none. A type and a service
  // cannot have the same name.
  const Definition* type_or_service(const Program& from, std::string_view name) const;
  const Const* constant(const Program& from, std::string_view name) const;
  // Returns the enum of `Enum.MEMBER` or `include.Enum.MEMBER`, or nullptr if there is no such enum
  // or member.
  const Definition* enum_of_member(const Program& from, std::string_view name) const;

  // Returns false if `name` may be unknown only because of an error that was already reported, for
  // example a syntax error in an included file.
  bool is_known_fully(const Program& from, std::string_view name) const;
  // Returns the include that should define `name` but was not found; nullptr if there is none.
  const Include* missing_include(const Program& from, std::string_view name) const;

 private:
  struct Names {
    std::unordered_map<std::string, const Definition*> types_and_services;
    std::unordered_map<std::string, const Const*> constants;
  };

  std::unordered_map<const Program*, Names> by_program_;
};

bool has_member(const Enum& definition, std::string_view member);

}  // namespace hat::hintgen
