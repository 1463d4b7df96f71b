// SPDX-License-Identifier: Apache-2.0
// hintgen/values.cc: checks whether the values of constants and the default values of fields fit
// their types. hintgen refuses the values that the Thrift compiler refuses, and also numbers
// outside of the range of their type.
#include "hintgen/values.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "hintgen/nearest_name.h"
#include "hintgen/rules.h"

namespace hat::hintgen {
namespace {

using Kind = ConstValue::Kind;

bool is_integer(TypeKind kind) {
  return kind == TypeKind::kI8 || kind == TypeKind::kI16 || kind == TypeKind::kI32 ||
         kind == TypeKind::kI64;
}

bool is_text(TypeKind kind) {
  return kind == TypeKind::kString || kind == TypeKind::kBinary || kind == TypeKind::kUuid;
}

const char* shape_of(Kind kind) {
  switch (kind) {
    case Kind::kInteger:
      return "an integer";
    case Kind::kDouble:
      return "a number";
    case Kind::kLiteral:
      return "a string";
    case Kind::kName:
      return "a name";
    case Kind::kList:
      return "a list";
    case Kind::kMap:
      return "a map";
  }
  return "";
}

int bits_of(TypeKind kind) {
  switch (kind) {
    case TypeKind::kI8:
      return 8;
    case TypeKind::kI16:
      return 16;
    case TypeKind::kI32:
      return 32;
    default:
      return 64;
  }
}

bool fits(int64_t value, int bits) {
  return bits == 64 || (value >= -(int64_t{1} << (bits - 1)) && value < int64_t{1} << (bits - 1));
}

// Returns true if `text` is a UUID: 8-4-4-4-12 hexadecimal digits, optionally in braces.
bool is_uuid(std::string_view text) {
  if (text.size() >= 2 && text.front() == '{' && text.back() == '}') {
    text = text.substr(1, text.size() - 2);
  }
  constexpr std::string_view kShape = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
  return std::equal(text.begin(), text.end(), kShape.begin(), kShape.end(), [](char c, char shape) {
    return shape == '-' ? c == '-' : std::isxdigit(static_cast<unsigned char>(c)) != 0;
  });
}

// Returns true if a constant of the base type `have` can be used as a value of the base type
// `want`.
bool compatible(TypeKind want, TypeKind have) {
  if (want == TypeKind::kDouble) return have == TypeKind::kDouble || is_integer(have);
  if (want == TypeKind::kBool || is_integer(want)) {
    return have == TypeKind::kBool || is_integer(have);
  }
  if (is_text(want)) return is_text(have);
  return true;
}

std::vector<std::string_view> field_names(const Struct& definition) {
  std::vector<std::string_view> names;
  for (const Field& field : definition.fields) names.push_back(field.name.text);
  return names;
}

}  // namespace

bool ValueRules::check_defined_before(const Type& use, const Name& owner) const {
  const Type* meaning = meaning_of(use);
  for (const Type* type : {&use, meaning}) {
    if (type == nullptr || type->definition == nullptr) continue;
    const Name& name = type->definition->name();
    const bool is_own = scopes_.type_or_service(program_, name.text) == type->definition;
    if (!is_own || is_before(name.at, owner.at)) continue;
    report_.error(use.name.at, "'" + name.text + "' is defined later, in " +
                                   report_.line_of(name.at) + "; move it up");
    return false;
  }
  return true;
}

void ValueRules::check(const Type& type, const ConstValue& value, Use use) const {
  const Type* meaning = meaning_of(type);
  if (meaning != &type) use.behind_typedef = true;
  if (meaning == nullptr || !check_defined_before(type, use.owner)) return;
  if (!meaning->elements.empty()) {
    check_items(*meaning, value, use);
    return;
  }
  const Definition* definition = meaning->definition;
  if (definition != nullptr && std::holds_alternative<Enum>(definition->value)) {
    check_enum(std::get<Enum>(definition->value), value, use);
  } else if (value.kind == Kind::kName) {
    check_name(*meaning, value, use);
  } else if (definition != nullptr && std::holds_alternative<Struct>(definition->value)) {
    check_struct(std::get<Struct>(definition->value), value, use);
  } else if (definition == nullptr) {
    check_base(*meaning, value, use);
  }
}

// Checks a name that is used as a value: the name of a constant, or the name of a member of an
// enum, which stands for a number.
void ValueRules::check_name(const Type& type, const ConstValue& value, Use use) const {
  const std::string& name = value.text.text;
  if (const Const* constant = scopes_.constant(program_, name)) {
    const bool own = name.find('.') == std::string::npos;
    if (own && !is_before(constant->name.at, use.owner.at)) {
      report_.error(value.at, "constant '" + name + "' must be defined before its use");
      return;
    }
    const Type* have = meaning_of(constant->type);
    if (have != nullptr && !compatible(type.kind, have->kind)) {
      report_misfit(value, use,
                    "'" + use.owner.text + "' has type " + type.name.text + ", but '" + name +
                        "' has type " + constant->type.name.text);
    }
    return;
  }
  const Definition* definition = scopes_.enum_of_member(program_, name);
  if (definition != nullptr) {
    if (is_text(type.kind)) {
      report_misfit(value, use,
                    "'" + use.owner.text + "' has type " + type.name.text +
                        ", but an enum member is an integer");
    }
    return;
  }
  if (scopes_.is_known_fully(program_, name)) {
    report_.error(value.at, [&] {
      return "there is no constant or enum member named '" + name + "'" +
             nearest_name(program_, NameOf::kValue, name);
    });
  }
}

void ValueRules::check_enum(const Enum& definition, const ConstValue& value, Use use) const {
  const std::string& enum_name = definition.name.text;
  if (value.kind == Kind::kInteger) {
    const bool found = std::any_of(definition.members.begin(), definition.members.end(),
                                   [&](const EnumMember& it) { return it.value == value.integer; });
    if (!found) {
      report_.error(value.at, "no member of enum '" + enum_name + "' has the value " +
                                  std::to_string(value.integer));
    }
    return;
  }
  if (value.kind != Kind::kName) {
    report_.error(value.at,
                  "expected a member of enum '" + enum_name + "', found " + shape_of(value.kind));
    return;
  }
  const std::string& name = value.text.text;
  const size_t dot = name.rfind('.');
  if (dot == std::string::npos) {
    const std::string message = "'" + name + "' is not the full name of a member";
    if (has_member(definition, name)) {
      report_misfit(value, use, message + "; write '" + enum_name + "." + name + "'");
    } else {
      report_.error(value.at, message + " of enum '" + enum_name + "'");
    }
  } else if (!has_member(definition, std::string_view(name).substr(dot + 1))) {
    report_.error(value.at, [&] {
      return "'" + name + "' is not a member of enum '" + enum_name + "'" +
             nearest_name(program_, NameOf::kValue, name);
    });
  }
}

void ValueRules::check_struct(const Struct& definition, const ConstValue& value, Use use) const {
  if (value.kind != Kind::kMap) {
    report_misfit(value, use,
                  "'" + use.owner.text + "' has type " + definition.name.text +
                      ", written {\"field\": value}, but the value is " + shape_of(value.kind));
    return;
  }
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    const ConstValue& key = value.items[i];
    if (key.kind != Kind::kLiteral) {
      report_.error(key.at, "expected the name of a field in quotes");
      continue;
    }
    const auto field = std::find_if(definition.fields.begin(), definition.fields.end(),
                                    [&](const Field& it) { return it.name.text == key.text.text; });
    if (field == definition.fields.end()) {
      report_.error(key.at, [&] {
        return "'" + definition.name.text + "' has no field '" + key.text.text + "'" +
               nearest_name(field_names(definition), key.text.text);
      });
      continue;
    }
    check(field->type, value.items[i + 1], use);
  }
}

void ValueRules::check_base(const Type& type, const ConstValue& value, Use use) const {
  const bool good = is_text(type.kind) ? value.kind == Kind::kLiteral
                    : type.kind == TypeKind::kDouble
                        ? value.kind == Kind::kInteger || value.kind == Kind::kDouble
                        : value.kind == Kind::kInteger;
  if (!good) {
    report_misfit(value, use,
                  "'" + use.owner.text + "' has type " + type.name.text + ", but the value is " +
                      shape_of(value.kind));
  } else if (type.kind == TypeKind::kUuid && !is_uuid(value.text.text)) {
    report_misfit(value, use, "expected a uuid such as \"6ba7b810-9dad-11d1-80b4-00c04fd430c8\"");
  } else if (is_integer(type.kind) && !fits(value.integer, bits_of(type.kind))) {
    const int64_t max = (int64_t{1} << (bits_of(type.kind) - 1)) - 1;
    report_.warning(value.at, "the value " + std::to_string(value.integer) + " is out of range; '" +
                                  type.name.text + "' takes " + std::to_string(-max - 1) + " to " +
                                  std::to_string(max));
  }
}

// Checks the value of a constant or field whose type is a list, set or map. If the value is of
// another kind, hintgen only warns, because the Thrift compiler accepts any value for such a type.
void ValueRules::check_items(const Type& type, const ConstValue& value, Use use) const {
  const bool is_map = type.kind == TypeKind::kMap;
  if (value.kind == Kind::kName) {
    check_name(type, value, use);
  } else if (value.kind == (is_map ? Kind::kMap : Kind::kList)) {
    for (size_t i = 0; i < value.items.size(); ++i) {
      const Type& element = is_map ? type.elements[i % 2] : type.elements[0];
      check(element, value.items[i], use);
    }
  } else if (!value.items.empty() || (value.kind != Kind::kList && value.kind != Kind::kMap)) {
    report_.warning(value.at, "'" + use.owner.text + "' has type " + type.name.text +
                                  ", but the value is " + shape_of(value.kind));
  }
}

void ValueRules::report_misfit(const ConstValue& value, Use use, std::string message) const {
  if (use.behind_typedef) {
    report_.warning(value.at, message + "; Thrift does not check this through a typedef");
  } else {
    report_.error(value.at, std::move(message));
  }
}

}  // namespace hat::hintgen
