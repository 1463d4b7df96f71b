// SPDX-License-Identifier: Apache-2.0
// hintgen/scope.h: finds the meaning of a name in a file: its own definitions, and `include.Name`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hintgen/load.h"

namespace hat::hintgen {

class Scopes {
 public:
  // Covers all files of `idl`, which must outlive this object. If two definitions have the same
  // name, the first one counts.
  explicit Scopes(const Idl& idl);

  // Returns a type or a service, which share one set of names; nullptr if `name` is neither.
  const Definition* type_or_service(const Program& from, std::string_view name) const;
  const Const* constant(const Program& from, std::string_view name) const;
  // Returns the enum of `Enum.MEMBER` or `include.Enum.MEMBER`, or nullptr if there is no such enum
  // or member.
  const Definition* enum_of_member(const Program& from, std::string_view name) const;

  // Returns false if an error or warning that was already reported may be the reason why `name` is
  // unknown.
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
