// SPDX-License-Identifier: Apache-2.0
// hintgen/scope.h: what a name means in a file: its own definitions, and `include.Name`.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "hintgen/load.h"

namespace hat::hintgen {

class Scopes {
 public:
  // Of all files of `idl`, which must outlive this. Of two definitions with one name the first
  // counts.
  explicit Scopes(const Idl& idl);

  // Types and services share names; null where `name` is none of them.
  const Definition* type_or_service(const Program& from, std::string_view name) const;
  const Const* constant(const Program& from, std::string_view name) const;
  // The enum of `Enum.MEMBER` or `include.Enum.MEMBER`, where it has such a member.
  const Definition* enum_of_member(const Program& from, std::string_view name) const;

  // False where a mistake that has been told may be why `name` is unknown.
  bool is_known_fully(const Program& from, std::string_view name) const;
  // The include that should have `name` but was not found; null where that is not why.
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
