// SPDX-License-Identifier: Apache-2.0
#include "config/signature.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace hat {
namespace {

// The names of types; the index is a WireType. The name is empty for kStruct, because each struct
// has its own name.
constexpr std::array<std::string_view, 12> kTypeNames = {
    "bool", "i8", "i16", "i32", "i64", "double", "string", "uuid", "", "list", "set", "map"};
constexpr std::string_view kBinary = "binary";  // the type of strings that need not be UTF-8
constexpr std::string_view kRequired = "required ";

const std::string_view* own_type(std::string_view word) {
  const auto* found = std::ranges::find(kTypeNames, word == kBinary ? "string" : word);
  return found == kTypeNames.end() || word.empty() ? nullptr : found;
}

constexpr size_t element_count(WireType type) {
  if (type == WireType::kMap) return 2;
  return type == WireType::kList || type == WireType::kSet ? 1 : 0;
}

class TypeParser {
 public:
  TypeParser(std::string_view text, const NamedTypes& types)
      : text_(text), rest_(text), types_(types) {}

  Result<TypeSpec> run() {
    Result<TypeSpec> type = parse(0);
    if (type && !rest_.empty()) return unexpected();
    return type;
  }

 private:
  Result<TypeSpec> parse(int depth) {
    if (depth > kTypeNestingMax) {
      return fail(ErrorCode::kInvalid,
                  "the type is nested more than " + std::to_string(kTypeNestingMax) + " deep");
    }
    const std::string_view word = take_word();
    if (word.empty()) return unexpected();
    const std::string_view* own = own_type(word);
    if (own == nullptr) return named(word);
    TypeSpec type{.wire = static_cast<WireType>(own - kTypeNames.data())};
    type.is_text = type.wire == WireType::kString && word != kBinary;
    for (size_t i = 0; i < element_count(type.wire); ++i) {
      if (!take(i == 0 ? '<' : ',')) return unexpected();
      Result<TypeSpec> element = parse(depth + 1);
      if (!element) return element;
      type.elements.push_back(std::move(*element));
    }
    if (!type.elements.empty() && !take('>')) return unexpected();
    return type;
  }

  Result<TypeSpec> named(std::string_view word) const {
    const auto found = std::ranges::find(types_, word, &NamedType::name);
    if (found == types_.end()) {
      return fail(ErrorCode::kInvalid,
                  "unknown type '" + std::string(word) +
                      "': neither a Thrift type nor one of the service's `types`");
    }
    const bool is_enum = found->kind == NamedType::Kind::kEnum;
    return TypeSpec{.wire = is_enum ? WireType::kI32 : WireType::kStruct,
                    .named = static_cast<size_t>(found - types_.begin())};
  }

  std::string_view take_word() {
    skip_blanks();
    const size_t end = std::min(rest_.find_first_of("<>, "), rest_.size());
    const std::string_view word = rest_.substr(0, end);
    rest_.remove_prefix(end);
    skip_blanks();
    return word;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    skip_blanks();
    return true;
  }
  void skip_blanks() {
    while (rest_.starts_with(' ')) rest_.remove_prefix(1);
  }
  std::unexpected<Error> unexpected() const {
    return fail(ErrorCode::kInvalid,
                "'" + std::string(text_) +
                    "' is not a type; expected a type such as string, list<i32>, " +
                    "map<string,i64>, or a name from the service's `types`");
  }

  std::string_view text_;
  std::string_view rest_;
  const NamedTypes& types_;
};

}  // namespace

Result<TypeSpec> parse_type(std::string_view text, const NamedTypes& types) {
  return TypeParser(text, types).run();
}

Result<FieldSpec> parse_field(std::string_view text, const NamedTypes& types) {
  const bool required = text.starts_with(kRequired);
  if (required) text.remove_prefix(kRequired.size());
  Result<TypeSpec> type = parse_type(text, types);
  if (!type) return std::unexpected(type.error());
  return FieldSpec{.required = required, .type = std::move(*type)};
}

std::string to_string(const TypeSpec& type, const NamedTypes& types) {
  if (type.named) return types[*type.named].name;
  const bool is_binary = type.wire == WireType::kString && !type.is_text;
  std::string text(is_binary ? kBinary : kTypeNames[static_cast<size_t>(type.wire)]);
  for (size_t i = 0; i < type.elements.size(); ++i) {
    text += (i == 0 ? "<" : ",") + to_string(type.elements[i], types);
  }
  return type.elements.empty() ? text : text + ">";
}

std::string to_string(const FieldSpec& field, const NamedTypes& types) {
  return std::string(field.required ? kRequired : "") + to_string(field.type, types);
}

bool is_type_word(std::string_view word) { return own_type(word) != nullptr; }

bool add_field(FieldSpecs& fields, FieldSpec field) {
  const auto at = std::ranges::lower_bound(fields, field.id, {}, &FieldSpec::id);
  if (at != fields.end() && at->id == field.id) return false;
  fields.insert(at, std::move(field));
  return true;
}

bool add_value(std::vector<int32_t>& values, int32_t value) {
  const auto at = std::ranges::lower_bound(values, value);
  if (at != values.end() && *at == value) return false;
  values.insert(at, value);
  return true;
}

}  // namespace hat
