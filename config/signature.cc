// SPDX-License-Identifier: Apache-2.0
#include "config/signature.h"

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace hat {
namespace {

// By WireType. Structs have names of their own.
constexpr std::array<std::string_view, 12> kTypeNames = {
    "bool", "i8", "i16", "i32", "i64", "double", "string", "uuid", "", "list", "set", "map"};

constexpr size_t element_count(WireType type) {
  if (type == WireType::kMap) return 2;
  return type == WireType::kList || type == WireType::kSet ? 1 : 0;
}

class TypeParser {
 public:
  TypeParser(std::string_view text, std::span<const std::string> names)
      : text_(text), rest_(text), names_(names) {}

  Result<TypeSpec> run() {
    Result<TypeSpec> type = parse(0);
    if (type && !rest_.empty()) return unexpected();
    return type;
  }

 private:
  Result<TypeSpec> parse(int depth) {
    if (depth > kTypeNestingMax) {
      return fail("the type nests more than " + std::to_string(kTypeNestingMax) + " deep");
    }
    const std::string_view word = take_word();
    if (word.empty()) return unexpected();
    TypeSpec type;
    const auto* known = std::ranges::find(kTypeNames, word);
    if (known == kTypeNames.end()) {
      const auto found = std::ranges::find(names_, word);
      if (found == names_.end()) {
        return fail("unknown type '" + std::string(word) +
                    "': neither a Thrift type nor one of the service's `types`");
      }
      type.wire = WireType::kStruct;
      type.structure = static_cast<size_t>(found - names_.begin());
      return type;
    }
    type.wire = static_cast<WireType>(known - kTypeNames.begin());
    for (size_t i = 0; i < element_count(type.wire); ++i) {
      if (!take(i == 0 ? '<' : ',')) return unexpected();
      Result<TypeSpec> element = parse(depth + 1);
      if (!element) return element;
      type.elements.push_back(std::move(*element));
    }
    if (!type.elements.empty() && !take('>')) return unexpected();
    return type;
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
    return fail("'" + std::string(text_) + "' is not a type; expected one as string, list<i32>, " +
                "map<string,i64>, or a name from the service's `types`");
  }

  std::string_view text_;
  std::string_view rest_;
  std::span<const std::string> names_;
};

}  // namespace

Result<TypeSpec> parse_type(std::string_view text, std::span<const std::string> names) {
  return TypeParser(text, names).run();
}

std::string to_string(const TypeSpec& type, const StructSpecs& structs) {
  if (type.wire == WireType::kStruct) return structs[type.structure].name;
  std::string text(kTypeNames[static_cast<size_t>(type.wire)]);
  for (size_t i = 0; i < type.elements.size(); ++i) {
    text += (i == 0 ? "<" : ",") + to_string(type.elements[i], structs);
  }
  return type.elements.empty() ? text : text + ">";
}

bool is_type_word(std::string_view word) {
  return !word.empty() && std::ranges::find(kTypeNames, word) != kTypeNames.end();
}

bool add_field(FieldSpecs& fields, FieldSpec field) {
  const auto at = std::ranges::lower_bound(fields, field.id, {}, &FieldSpec::id);
  if (at != fields.end() && at->id == field.id) return false;
  fields.insert(at, std::move(field));
  return true;
}

}  // namespace hat
