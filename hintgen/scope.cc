// SPDX-License-Identifier: Apache-2.0
// hintgen/scope.cc: looks up names, in included files if the name has a dot.
#include "hintgen/scope.h"

#include <algorithm>

namespace hat::hintgen {
namespace {

struct Split {
  std::string_view before;  // text before the last dot; empty if there is none
  std::string_view after;
};

Split split_at_last_dot(std::string_view name) {
  const size_t dot = name.rfind('.');
  if (dot == std::string_view::npos) return {{}, name};
  return {name.substr(0, dot), name.substr(dot + 1)};
}

// Calls `visit(program)` for each file that `from` includes under the name `include`, or for `from`
// itself if `include` is empty. Stops at the first result that is not null, and returns it.
template <class Visit>
auto in_files(const Program& from, std::string_view include, const Visit& visit)
    -> decltype(visit(from)) {
  if (include.empty()) return visit(from);
  for (const Include& candidate : from.includes) {
    if (candidate.program == nullptr || program_name(candidate.path.text) != include) continue;
    if (auto found = visit(*candidate.program)) return found;
  }
  return nullptr;
}

}  // namespace

Scopes::Scopes(const Idl& idl) {
  for (const auto& program : idl.programs) {
    Names& names = by_program_[program.get()];
    for (const auto& definition : program->definitions) {
      const std::string& name = definition->name().text;
      if (const auto* constant = std::get_if<Const>(&definition->value)) {
        names.constants.emplace(name, constant);
      } else {
        names.types_and_services.emplace(name, definition.get());
      }
    }
  }
}

const Definition* Scopes::type_or_service(const Program& from, std::string_view name) const {
  const auto [include, bare] = split_at_last_dot(name);
  return in_files(from, include, [&](const Program& program) -> const Definition* {
    const auto& names = by_program_.at(&program).types_and_services;
    const auto found = names.find(std::string(bare));
    return found == names.end() ? nullptr : found->second;
  });
}

const Const* Scopes::constant(const Program& from, std::string_view name) const {
  const auto [include, bare] = split_at_last_dot(name);
  return in_files(from, include, [&](const Program& program) -> const Const* {
    const auto& names = by_program_.at(&program).constants;
    const auto found = names.find(std::string(bare));
    return found == names.end() ? nullptr : found->second;
  });
}

const Definition* Scopes::enum_of_member(const Program& from, std::string_view name) const {
  // Splits `name` at a dot into an enum and a member. Tries each dot, from the last to the first,
  // because the name of a member may also contain dots.
  for (size_t dot = name.rfind('.'); dot != std::string_view::npos && dot != 0;
       dot = name.rfind('.', dot - 1)) {
    const Definition* definition = type_or_service(from, name.substr(0, dot));
    if (definition == nullptr) continue;
    const auto* found = std::get_if<Enum>(&definition->value);
    if (found != nullptr && has_member(*found, name.substr(dot + 1))) return definition;
  }
  return nullptr;
}

bool Scopes::is_known_fully(const Program& from, std::string_view name) const {
  if (!from.complete) return false;
  const std::string_view first = name.substr(0, name.find('.'));
  const std::string_view include = split_at_last_dot(name).before;
  return std::none_of(from.includes.begin(), from.includes.end(), [&](const Include& candidate) {
    const std::string_view its_name = program_name(candidate.path.text);
    if (its_name != include && its_name != first) return false;
    return candidate.refused || (candidate.program != nullptr && !candidate.program->complete);
  });
}

const Include* Scopes::missing_include(const Program& from, std::string_view name) const {
  const std::string_view include = split_at_last_dot(name).before;
  for (const Include& candidate : from.includes) {
    if (candidate.program == nullptr && !candidate.refused &&
        program_name(candidate.path.text) == include) {
      return &candidate;
    }
  }
  return nullptr;
}

bool has_member(const Enum& definition, std::string_view member) {
  return std::any_of(definition.members.begin(), definition.members.end(),
                     [&](const EnumMember& it) { return it.name.text == member; });
}

}  // namespace hat::hintgen
