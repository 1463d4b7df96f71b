// SPDX-License-Identifier: Apache-2.0
// hintgen/nearest_name.cc: collects the names that can replace an unknown name, and finds the most
// similar name.
#include "hintgen/nearest_name.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/nearest_word.h"
#include "config/diagnostics.h"

namespace hat::hintgen {
namespace {

constexpr size_t kUnknownBytesMin = 3;  // shorter names are similar to too many names
// The maximum number of names to compare for one diagnostic. It bounds the time for a file with
// many names and many errors.
constexpr size_t kNamesMax = 1000;

constexpr std::array kBaseTypes = {"bool",   "byte",   "i8",     "i16",  "i32", "i64", "uuid",
                                   "double", "string", "binary", "list", "set", "map"};

class Names {
 public:
  Names(NameOf wanted, std::string_view unknown) : wanted_(wanted), unknown_(unknown) {
    if (wanted != NameOf::kType) return;
    for (const char* name : kBaseTypes) add(name);
  }

  void add(const Program& program, const std::string& prefix) {
    for (const auto& definition : program.definitions) {
      const std::string name = prefix + definition->name().text;
      const auto* numbers = std::get_if<Enum>(&definition->value);
      if (wanted_ == NameOf::kValue && numbers != nullptr) {
        for (const EnumMember& member : numbers->members) add(name + "." + member.name.text);
      } else if (wanted_ == kind_of(*definition)) {
        add(name);
      }
    }
  }

  std::string nearest() const { return nearest_name({near_.begin(), near_.end()}, unknown_); }

 private:
  static NameOf kind_of(const Definition& definition) {
    if (std::holds_alternative<Const>(definition.value)) return NameOf::kValue;
    if (std::holds_alternative<Service>(definition.value)) return NameOf::kService;
    return NameOf::kType;
  }

  // Adds `name` to the candidates unless its length differs too much from the length of the unknown
  // name. At most a third of the letters may be wrong, and each inserted or deleted letter counts
  // as a wrong letter.
  void add(std::string name) {
    const size_t longer = std::max(name.size(), unknown_.size());
    const size_t shorter = std::min(name.size(), unknown_.size());
    if (longer - shorter > unknown_.size() / 3 || near_.size() == kNamesMax) return;
    near_.push_back(std::move(name));
  }

  NameOf wanted_;
  std::string_view unknown_;
  std::vector<std::string> near_;
};

}  // namespace

std::string nearest_name(const Program& from, NameOf wanted, std::string_view unknown) {
  Names names(wanted, unknown);
  names.add(from, "");
  for (const Include& include : from.includes) {
    if (include.program != nullptr) names.add(*include.program, include.program->name + ".");
  }
  return names.nearest();
}

std::string nearest_name(const std::vector<std::string_view>& names, std::string_view unknown) {
  const std::string_view last_word = unknown.substr(unknown.rfind('.') + 1);
  return last_word.size() < kUnknownBytesMin ? "" : did_you_mean(unknown, names);
}

}  // namespace hat::hintgen
