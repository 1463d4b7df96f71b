// SPDX-License-Identifier: Apache-2.0
// hintgen/dump.cc: writes the tree as JSON.
#include "hintgen/dump.h"

#include <charconv>
#include <cmath>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hat::hintgen {
namespace {

std::string json_string(std::string_view value) {
  std::string text = "\"";
  for (const char c : value) {
    const auto byte = static_cast<unsigned char>(c);
    if (c == '"' || c == '\\') {
      text += std::string("\\") + c;
    } else if (byte < 0x20) {
      char escape[8];
      std::snprintf(escape, sizeof escape, "\\u%04x", byte);
      text += escape;
    } else {
      text += c;
    }
  }
  return text + "\"";
}

// Returns a JSON object such as {"a": 1, …}. Each value in `members` must already be JSON text.
std::string object(const std::vector<std::pair<std::string_view, std::string>>& members) {
  std::string text;
  for (const auto& [name, value] : members) {
    text += (text.empty() ? "" : ", ") + json_string(name) + ": " + value;
  }
  return "{" + text + "}";
}

template <class T, class Show>
std::string array(const std::vector<T>& items, const Show& show) {
  std::string text;
  for (const T& item : items) text += (text.empty() ? "" : ",\n ") + show(item);
  return "[" + text + "]";
}

std::string flag(bool value) { return value ? "true" : "false"; }

std::string spelled(const Type& type) {
  std::string text = type.name.text;
  for (size_t i = 0; i < type.elements.size(); ++i) {
    text += (i == 0 ? "<" : ", ") + spelled(type.elements[i]);
  }
  return type.elements.empty() ? text : text + ">";
}

std::string show(const Annotations& annotations) {
  return array(annotations.items, [](const Annotation& it) {
    return "[" + json_string(it.key.text) + ", " + json_string(it.value ? it.value->text : "1") +
           "]";
  });
}

std::string shortest(double number) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, number);
  return std::isfinite(number) ? std::string(text, end)
                               : json_string(std::signbit(number) ? "-inf" : "inf");
}

// Returns a value as JSON. A name becomes {"name": …}, and a map {"map": [[key, value], …]}. JSON
// has all other kinds of values.
std::string show(const ConstValue& value) {
  switch (value.kind) {
    case ConstValue::Kind::kInteger:
      return std::to_string(value.integer);
    case ConstValue::Kind::kDouble:
      return shortest(value.number);
    case ConstValue::Kind::kLiteral:
      return json_string(value.text.text);
    case ConstValue::Kind::kName:
      return object({{"name", json_string(value.text.text)}});
    case ConstValue::Kind::kList:
      return array(value.items, [](const ConstValue& it) { return show(it); });
    case ConstValue::Kind::kMap:
      break;
  }
  std::string pairs;
  for (size_t i = 0; i + 1 < value.items.size(); i += 2) {
    pairs += (pairs.empty() ? "[" : ", [") + show(value.items[i]) + ", " +
             show(value.items[i + 1]) + "]";
  }
  return object({{"map", "[" + pairs + "]"}});
}

std::string show(const Field& field) {
  constexpr const char* kRequiredness[] = {"default", "required", "optional"};
  return object({{"id", std::to_string(field.id)},
                 {"name", json_string(field.name.text)},
                 {"type", json_string(spelled(field.type))},
                 {"required", json_string(kRequiredness[static_cast<size_t>(field.requiredness)])},
                 {"default", field.value ? show(*field.value) : "null"},
                 {"annotations", show(field.annotations)}});
}

std::string show(const std::vector<Field>& fields) {
  return array(fields, [](const Field& it) { return show(it); });
}

std::string show(const Function& function) {
  return object({{"name", json_string(function.name.text)},
                 {"oneway", flag(function.oneway)},
                 {"result", json_string(spelled(function.result))},
                 {"arguments", show(function.arguments)},
                 {"exceptions", show(function.exceptions)},
                 {"annotations", show(function.annotations)}});
}

std::string show(const Service& service) {
  return object(
      {{"name", json_string(service.name.text)},
       {"extends", service.extends ? json_string(service.extends->text) : "null"},
       {"functions", array(service.functions, [](const Function& it) { return show(it); })},
       {"annotations", show(service.annotations)}});
}

std::string show(const Struct& definition) {
  constexpr const char* kKinds[] = {"struct", "union", "exception"};
  return object({{"name", json_string(definition.name.text)},
                 {"kind", json_string(kKinds[static_cast<size_t>(definition.kind)])},
                 {"fields", show(definition.fields)},
                 {"annotations", show(definition.annotations)}});
}

std::string show(const Enum& definition) {
  const auto member = [](const EnumMember& it) {
    return object({{"name", json_string(it.name.text)}, {"value", std::to_string(it.value)}});
  };
  return object({{"name", json_string(definition.name.text)},
                 {"members", array(definition.members, member)},
                 {"annotations", show(definition.annotations)}});
}

std::string show(const Typedef& definition) {
  return object({{"name", json_string(definition.name.text)},
                 {"type", json_string(spelled(definition.type))},
                 {"annotations", show(definition.annotations)}});
}

std::string show(const Const& definition) {
  return object({{"name", json_string(definition.name.text)},
                 {"type", json_string(spelled(definition.type))},
                 {"value", show(definition.value)}});
}

// Returns all definitions of one kind, in the order of the file.
template <class Kind>
std::string all(const Program& program) {
  std::vector<const Kind*> found;
  for (const auto& definition : program.definitions) {
    if (const auto* it = std::get_if<Kind>(&definition->value)) found.push_back(it);
  }
  return array(found, [](const Kind* it) { return show(*it); });
}

}  // namespace

std::string dump_json(const Program& program) {
  const auto name = [](const Name& it) { return json_string(it.text); };
  return object({{"name", json_string(program.name)},
                 {"includes", array(program.includes,
                                    [](const Include& it) { return json_string(it.path.text); })},
                 {"cpp_includes", array(program.cpp_includes, name)},
                 {"namespaces", array(program.namespaces,
                                      [](const Namespace& it) {
                                        return "[" + json_string(it.scope.text) + ", " +
                                               json_string(it.name.text) + "]";
                                      })},
                 {"enums", all<Enum>(program)},
                 {"typedefs", all<Typedef>(program)},
                 {"structs", all<Struct>(program)},
                 {"constants", all<Const>(program)},
                 {"services", all<Service>(program)}}) +
         "\n";
}

}  // namespace hat::hintgen
