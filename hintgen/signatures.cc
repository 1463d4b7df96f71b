// SPDX-License-Identifier: Apache-2.0
// hintgen/signatures.cc: resolves typedefs, and assigns an index to each struct, union and enum
// that an argument uses.
#include "hintgen/signatures.h"

#include <cstdint>
#include <utility>
#include <variant>

#include "hintgen/rules.h"

namespace hat::hintgen {
namespace {

WireType wire_type(TypeKind kind) {
  switch (kind) {
    case TypeKind::kBool:
      return WireType::kBool;
    case TypeKind::kI8:
      return WireType::kI8;
    case TypeKind::kI16:
      return WireType::kI16;
    case TypeKind::kI32:
      return WireType::kI32;
    case TypeKind::kI64:
      return WireType::kI64;
    case TypeKind::kDouble:
      return WireType::kDouble;
    case TypeKind::kUuid:
      return WireType::kUuid;
    case TypeKind::kMap:
      return WireType::kMap;
    case TypeKind::kSet:
      return WireType::kSet;
    case TypeKind::kList:
      return WireType::kList;
    default:  // kString, kBinary; no argument is void, and names are resolved earlier
      return WireType::kString;
  }
}

}  // namespace

Signatures::Signatures(const Idl& idl) : main_(idl.main) {
  for (const auto& program : idl.programs) {
    for (const auto& definition : program->definitions) {
      programs_.emplace(definition.get(), program.get());
    }
  }
}

NamedTypes Signatures::take_types() {
  // The fields of a type can use more types, which are appended to `unread_`.
  while (!unread_.empty()) {
    const Definition* next = unread_.front();
    unread_.pop_front();
    NamedType described;
    describe(*next, described);
    NamedType& named = types_[places_.at(next)];
    described.name = std::move(named.name);
    named = std::move(described);
  }
  places_.clear();
  names_.clear();
  return std::exchange(types_, {});
}

void Signatures::describe(const Definition& definition, NamedType& named) {
  if (const auto* of_enum = std::get_if<Enum>(&definition.value)) {
    named.kind = NamedType::Kind::kEnum;
    for (const EnumMember& member : of_enum->members) {
      add_value(named.values, static_cast<int32_t>(member.value));
    }
    return;
  }
  const auto& of_fields = std::get<Struct>(definition.value);
  if (of_fields.kind == Struct::Kind::kUnion) named.kind = NamedType::Kind::kUnion;
  named.fields = fields_of(of_fields.fields);
}

FieldSpecs Signatures::fields_of(const std::vector<Field>& fields) {
  FieldSpecs specs;
  for (const Field& field : fields) {
    if (field.id < INT16_MIN || field.id > INT16_MAX) continue;
    auto type = type_of(field.type, 0);
    if (!type) continue;
    const bool required = field.requiredness == Requiredness::kRequired;
    // Generated Java code replaces an enum value that the IDL does not define by null, and a
    // required field must not be null. Therefore the signature names the enum of a required field,
    // so that daemons can refuse other values.
    const Type* meaning = meaning_of(field.type);
    if (required && type->wire == WireType::kI32 && meaning->kind == TypeKind::kNamed) {
      type->named = place_of(*meaning->definition);
    }
    add_field(specs, {static_cast<int16_t>(field.id), required, std::move(*type)});
  }
  return specs;
}

std::optional<TypeSpec> Signatures::type_of(const Type& written, int depth) {
  const Type* type = meaning_of(written);
  if (type == nullptr || depth > kTypeNestingMax) return std::nullopt;
  TypeSpec spec;
  if (type->kind == TypeKind::kNamed) {
    if (type->definition == nullptr) return std::nullopt;
    if (std::holds_alternative<Enum>(type->definition->value)) {
      spec.wire = WireType::kI32;
    } else {
      spec.wire = WireType::kStruct;
      spec.named = place_of(*type->definition);
    }
    return spec;
  }
  spec.wire = wire_type(type->kind);
  spec.is_text = type->kind == TypeKind::kString;
  for (const Type& element : type->elements) {
    auto part = type_of(element, depth + 1);
    if (!part) return std::nullopt;
    spec.elements.push_back(std::move(*part));
  }
  return spec;
}

size_t Signatures::place_of(const Definition& definition) {
  const auto [known, is_new] = places_.emplace(&definition, types_.size());
  if (!is_new) return known->second;
  types_.push_back({.name = unused_name(definition)});
  unread_.push_back(&definition);
  return known->second;
}

// Returns a name for the type that no other type has. Appends "_" if necessary, because two
// included files in different directories may have the same name.
std::string Signatures::unused_name(const Definition& definition) {
  const Program* program = programs_.at(&definition);
  std::string name = definition.name().text;
  if (program != main_) name.insert(0, program->name + ".");
  while (is_type_word(name) || !names_.insert(name).second) name += "_";
  return name;
}

}  // namespace hat::hintgen
