// SPDX-License-Identifier: Apache-2.0
// hintgen/rules.cc: checks names, field ids, functions and enums.
#include "hintgen/rules.h"

#include <limits>
#include <string>
#include <unordered_map>
#include <utility>

#include "hintgen/reserved_words.h"
#include "hintgen/values.h"

namespace hat::hintgen {
namespace {

constexpr int64_t kFieldIdMax = std::numeric_limits<int16_t>::max();

enum class FieldsOf : uint8_t { kStruct, kUnion, kArguments, kThrows };

class Rules {
 public:
  Rules(const Program& program, const Scopes& scopes, Report& report)
      : program_(program), values_(program, scopes, report), report_(report) {}

  void run() {
    for (const auto& definition : program_.definitions) {
      const Name& name = definition->name();
      check_name(name);
      const bool is_const = std::holds_alternative<Const>(definition->value);
      check_unique(is_const ? constants_ : types_, name,
                   is_const ? "constant" : "a type or service named");
      std::visit([this](const auto& it) { check(it); }, definition->value);
    }
  }

 private:
  using Seen = std::unordered_map<std::string, Span>;

  void check(const Const& it) { values_.check(it.type, it.value, it.name); }
  void check(const Typedef&) {}

  void check(const Enum& it) {
    Seen seen;
    for (const EnumMember& member : it.members) {
      check_member_name(member);
      check_unique(seen, member.name, "member");
      if (member.value < std::numeric_limits<int32_t>::min() ||
          member.value > std::numeric_limits<int32_t>::max()) {
        report_.error(member.name.at,
                      "the value " + std::to_string(member.value) + " of '" + member.name.text +
                          "' is out of range; an enum's values are from " +
                          std::to_string(INT32_MIN) + " to " + std::to_string(INT32_MAX));
      }
    }
  }

  void check(const Struct& it) {
    const bool is_union = it.kind == Struct::Kind::kUnion;
    check_fields(it.fields, is_union ? FieldsOf::kUnion : FieldsOf::kStruct);
    if (is_union) check_union(it);
  }

  void check(const Service& it) {
    Seen seen;
    const auto inherited = inherited_by(it);
    for (const Function& function : it.functions) {
      check_name(function.name);
      check_unique(seen, function.name, "function");
      if (const auto base = inherited.find(function.name.text); base != inherited.end()) {
        report_.error(function.name.at, "function '" + function.name.text +
                                            "' is already inherited from service '" +
                                            base->second->name.text + "'");
      }
      check_function(function);
    }
  }

  void check_name(const Name& name) {
    if (name.text.find('.') != std::string::npos) {
      report_.error(name.at, "the name '" + name.text + "' must not have a dot");
    } else if (is_reserved_word(name.text)) {
      report_.warning(name.at, "'" + name.text + "' is a reserved word of Thrift; most of its " +
                                   "generators refuse it as a name");
    }
  }

  // Checks the name of an enum's member. A dot in the name is an error; if the member has a value,
  // it is only a warning, because the Thrift compiler then accepts the dot. (The code that this
  // compiler generates does not compile.)
  void check_member_name(const EnumMember& member) {
    const bool has_dot = member.name.text.find('.') != std::string::npos;
    if (!has_dot || !member.written_value) {
      check_name(member.name);
      return;
    }
    report_.warning(member.name.at, "the name '" + member.name.text +
                                        "' has a dot; generated code does not compile");
  }

  void check_unique(Seen& seen, const Name& name, const char* what) {
    const auto [first, is_new] = seen.emplace(name.text, name.at);
    if (is_new) return;
    report_.error(name.at, std::string(what) + " '" + name.text + "' is already defined in " +
                               report_.line_of(first->second));
  }

  static std::unordered_map<std::string, const Service*> inherited_by(const Service& service) {
    std::unordered_map<std::string, const Service*> inherited;
    for (const Service* base = service.parent; base != nullptr; base = base->parent) {
      for (const Function& function : base->functions) inherited.emplace(function.name.text, base);
    }
    return inherited;
  }

  void check_function(const Function& function) {
    check_fields(function.arguments, FieldsOf::kArguments);
    check_fields(function.exceptions, FieldsOf::kThrows);
    for (const Field& field : function.exceptions) check_exception(field);
    if (function.async_at) {
      report_.warning(*function.async_at, "'async' is obsolete; write 'oneway'");
    }
    if (!function.oneway) return;
    if (!function.exceptions.empty()) {
      report_.error(function.name.at, "oneway function '" + function.name.text +
                                          "' cannot throw: the caller gets no reply");
    }
    if (function.result.kind != TypeKind::kVoid) {
      report_.warning(function.result.name.at,
                      "oneway function '" + function.name.text + "' should return void");
    }
  }

  void check_exception(const Field& field) {
    const Type* type = meaning_of(field.type);
    if (type == nullptr) return;
    const Struct* thrown =
        type->definition == nullptr ? nullptr : std::get_if<Struct>(&type->definition->value);
    if (thrown == nullptr || thrown->kind != Struct::Kind::kException) {
      report_.error(field.type.name.at,
                    "'" + field.type.name.text + "' is not an exception, and cannot be thrown");
      return;
    }
    values_.check_defined_before(field.type, field.name);
  }

  void check_fields(const std::vector<Field>& fields, FieldsOf owner) {
    Seen names;
    std::unordered_map<int64_t, Span> ids;
    for (const Field& field : fields) {
      check_name(field.name);
      check_unique(names, field.name, owner == FieldsOf::kArguments ? "argument" : "field");
      check_id(field);
      const auto [first, is_new] = ids.emplace(field.id, field.name.at);
      if (!is_new) {
        report_.error(field.written_id ? field.written_id->at : field.name.at,
                      "field id " + std::to_string(field.id) + " is already used in " +
                          report_.line_of(first->second));
      }
      if (owner == FieldsOf::kArguments && field.requiredness == Requiredness::kOptional) {
        report_.warning(field.requiredness_at, "Thrift ignores 'optional' before an argument");
      }
      if (field.value) values_.check(field.type, *field.value, field.name);
      check_fields(field.xsd_attributes, FieldsOf::kStruct);
    }
  }

  void check_id(const Field& field) {
    const std::string so =
        "; Thrift assigns " + std::to_string(field.id) + ", which changes if fields are moved";
    if (!field.written_id) {
      report_.warning(field.name.at, "field '" + field.name.text + "' has no id" + so);
    } else if (field.written_id->value <= 0) {
      report_.warning(field.written_id->at, "a field's id must be positive" + so);
    } else if (field.id > kFieldIdMax) {
      report_.warning(field.written_id->at, "field id " + std::to_string(field.id) +
                                                " is out of range; Thrift sends ids from 1 to " +
                                                std::to_string(kFieldIdMax));
    }
  }

  void check_union(const Struct& it) {
    const Field* with_value = nullptr;
    for (const Field& field : it.fields) {
      if (field.requiredness == Requiredness::kRequired) {
        report_.warning(field.requiredness_at, "the fields of a union are always optional");
      }
      if (!field.value) continue;
      if (with_value != nullptr) {
        report_.error(field.name.at, "union '" + it.name.text + "' has a second default value: '" +
                                         with_value->name.text + "' has one already");
      }
      with_value = &field;
    }
  }

  const Program& program_;
  ValueRules values_;
  Report& report_;
  Seen types_;
  Seen constants_;
};

}  // namespace

const Type* meaning_of(const Type& type) {
  if (type.kind != TypeKind::kNamed) return &type;
  if (type.definition == nullptr) return nullptr;
  const auto* alias = std::get_if<Typedef>(&type.definition->value);
  return alias == nullptr ? &type : alias->meaning;
}

void check_rules(const Program& program, const Scopes& scopes, Report& report) {
  Rules(program, scopes, report).run();
}

}  // namespace hat::hintgen
