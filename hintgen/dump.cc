// SPDX-License-Identifier: Apache-2.0
// hintgen/dump.cc: writes the tree as JSON.
#include "hintgen/dump.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace hat::hintgen {
namespace {

using Json = nlohmann::ordered_json;

template <class Items, class ToJson>
Json array(const Items& items, const ToJson& to_json) {
  Json all = Json::array();
  for (const auto& item : items) all.push_back(to_json(item));
  return all;
}

std::string spelled(const Type& type) {
  std::string text = type.name.text;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    text += (i == 0 ? "<" : ", ") + spelled(type.elements[i]);
  }
  return type.elements.empty() ? text : text + ">";
}

Json json_of(const Annotations& annotations) {
  return array(annotations.items, [](const Annotation& it) {
    return Json::array({it.key.text, it.value ? it.value->text : "1"});
  });
}

// Returns a value as JSON. A name becomes {"name": …}, a map becomes {"map": [[key, value], …]},
// and an infinite number becomes "inf" or "-inf". For all other values JSON has its own forms.
Json json_of(const ConstValue& value) {
  switch (value.kind) {
    case ConstValue::Kind::kInteger:
      return value.integer;
    case ConstValue::Kind::kDouble:
      if (std::isfinite(value.number)) return value.number;
      return std::signbit(value.number) ? "-inf" : "inf";
    case ConstValue::Kind::kLiteral:
      return value.text.text;
    case ConstValue::Kind::kName:
      return {{"name", value.text.text}};
    case ConstValue::Kind::kList:
      return array(value.items, [](const ConstValue& it) { return json_of(it); });
    case ConstValue::Kind::kMap:
      break;
  }
  Json pairs = Json::array();
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    pairs.push_back(Json::array({json_of(value.items[i]), json_of(value.items[i + 1])}));
  }
  return {{"map", std::move(pairs)}};
}

Json json_of(const Field& field) {
  constexpr const char* kRequiredness[] = {"default", "required", "optional"};
  return {{"id", field.id},
          {"name", field.name.text},
          {"type", spelled(field.type)},
          {"required", kRequiredness[static_cast<size_t>(field.requiredness)]},
          {"default", field.value ? json_of(*field.value) : nullptr},
          {"annotations", json_of(field.annotations)}};
}

Json json_of(const std::vector<Field>& fields) {
  return array(fields, [](const Field& it) { return json_of(it); });
}

Json json_of(const Function& function) {
  return {{"name", function.name.text},
          {"oneway", function.oneway},
          {"result", spelled(function.result)},
          {"arguments", json_of(function.arguments)},
          {"exceptions", json_of(function.exceptions)},
          {"annotations", json_of(function.annotations)}};
}

Json json_of(const Service& service) {
  return {{"name", service.name.text},
          {"extends", service.extends ? Json(service.extends->text) : nullptr},
          {"functions", array(service.functions, [](const Function& it) { return json_of(it); })},
          {"annotations", json_of(service.annotations)}};
}

Json json_of(const Struct& definition) {
  constexpr const char* kKinds[] = {"struct", "union", "exception"};
  return {{"name", definition.name.text},
          {"kind", kKinds[static_cast<size_t>(definition.kind)]},
          {"fields", json_of(definition.fields)},
          {"annotations", json_of(definition.annotations)}};
}

Json json_of(const Enum& definition) {
  const auto member = [](const EnumMember& it) {
    return Json{{"name", it.name.text}, {"value", it.value}};
  };
  return {{"name", definition.name.text},
          {"members", array(definition.members, member)},
          {"annotations", json_of(definition.annotations)}};
}

Json json_of(const Typedef& definition) {
  return {{"name", definition.name.text},
          {"type", spelled(definition.type)},
          {"annotations", json_of(definition.annotations)}};
}

Json json_of(const Const& definition) {
  return {{"name", definition.name.text},
          {"type", spelled(definition.type)},
          {"value", json_of(definition.value)}};
}

// Returns all definitions of one kind, in the order of the file.
template <class Kind>
Json all(const Program& program) {
  Json found = Json::array();
  for (const auto& definition : program.definitions) {
    if (const auto* it = std::get_if<Kind>(&definition->value)) found.push_back(json_of(*it));
  }
  return found;
}

}  // namespace

std::string dump_json(const Program& program) {
  const Json whole = {
      {"name", program.name},
      {"includes", array(program.includes, [](const Include& it) { return it.path.text; })},
      {"cpp_includes", array(program.cpp_includes, [](const Name& it) { return it.text; })},
      {"namespaces", array(program.namespaces,
                           [](const Namespace& it) {
                             return Json::array({it.scope.text, it.name.text});
                           })},
      {"enums", all<Enum>(program)},
      {"typedefs", all<Typedef>(program)},
      {"structs", all<Struct>(program)},
      {"constants", all<Const>(program)},
      {"services", all<Service>(program)}};
  // A literal can have bytes that are not UTF-8. JSON cannot represent such bytes, so dump()
  // replaces each by U+FFFD.
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace hat::hintgen
