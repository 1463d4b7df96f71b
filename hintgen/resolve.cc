// SPDX-License-Identifier: Apache-2.0
// hintgen/resolve.cc: links types, typedefs and parent services across files.
#include "hintgen/resolve.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "hintgen/nearest_name.h"
#include "hintgen/report.h"
#include "hintgen/rules.h"
#include "hintgen/scope.h"

namespace hat::hintgen {
namespace {

// The time at which the Thrift compiler looks up a type: while the compiler reads the file
// (kAtOnce), or when it generates code for the file (kForCode). The compiler generates code for
// included files only with -r.
enum class Lookup : uint8_t { kAtOnce, kForCode };

// Links the names of one file after the files that it includes have been linked.
class Linker {
 public:
  Linker(Program& program, bool is_included, const Scopes& scopes, Report& report)
      : program_(program), is_included_(is_included), scopes_(scopes), report_(report) {}

  void run() {
    for (const auto& definition : program_.definitions) {
      std::visit([this](auto& it) { link(it); }, definition->value);
    }
    settle_typedefs();
  }

 private:
  void link(Const& it) { link(it.type, Lookup::kAtOnce); }
  void link(Typedef& it) { link(it.type, Lookup::kForCode); }
  void link(Enum&) {}
  void link(Struct& it) { link(it.fields); }
  void link(Service& it) {
    link_parent(it);
    for (Function& function : it.functions) {
      link(function.result, Lookup::kForCode);
      link(function.arguments);
      for (Field& field : function.exceptions) link(field.type, Lookup::kAtOnce);
    }
  }

  void link(std::vector<Field>& fields) {
    for (Field& field : fields) {
      link(field.type, field.value ? Lookup::kAtOnce : Lookup::kForCode);
      link(field.xsd_attributes);
    }
  }

  void link(Type& type, Lookup lookup) {
    for (Type& element : type.elements) link(element, lookup);
    if (type.kind != TypeKind::kNamed) return;
    const std::string& name = type.name.text;
    type.definition = scopes_.type_or_service(program_, name);
    // Since Thrift 0.18, uuid is a base type unless a definition has this name.
    if (type.definition == nullptr && name == "uuid") {
      type.kind = TypeKind::kUuid;
      return;
    }
    if (!type.annotations.at.empty()) {
      report_.error(type.annotations.at, "no annotations may follow the name of a type");
    }
    if (type.definition == nullptr) {
      if (!scopes_.is_known_fully(program_, name)) return;
      report_unusable(type, lookup, [&] { return unknown_type(name); });
    } else if (std::holds_alternative<Service>(type.definition->value)) {
      type.definition = nullptr;
      report_unusable(type, lookup, [&] { return "'" + name + "' is a service, not a type"; });
    } else if (is_undefined_elsewhere(type)) {
      report_unusable(type, lookup, [&] {
        return "'" + name + "' is a typedef of a type that is not defined; define it in the " +
               "included file";
      });
    }
  }

  // Reports a type that cannot be used, as an error. In an included file it is only a warning if
  // the Thrift compiler looks up the type when it generates code (kForCode), because the compiler
  // generates code for included files only with -r.
  void report_unusable(const Type& type, Lookup lookup, const auto& make_message) {
    if (is_included_ && lookup == Lookup::kForCode) {
      report_.warning(type.name.at, [&] {
        return make_message() + "; this is an error only if code is generated for this file";
      });
    } else {
      report_.error(type.name.at, make_message);
    }
  }

  std::string unknown_type(const std::string& name) const {
    const std::string message = "unknown type '" + name + "'";
    if (const Include* missing = scopes_.missing_include(program_, name)) {
      return message + ": '" + missing->path.text + "' was not found";
    }
    if (name == "slist") return message + ": it was removed from Thrift; use 'string'";
    if (name == "float") return message + ": it is a type of Facebook's Thrift; use 'double'";
    return message + nearest_name(program_, NameOf::kType, name);
  }

  // Returns true if `type` is a typedef in an included file, and the type for which this typedef
  // stands is undefined. hintgen has then already warned of the undefined type in that file.
  bool is_undefined_elsewhere(const Type& type) const {
    const bool own = type.name.text.find('.') == std::string::npos;
    return !own && meaning_of(type) == nullptr && scopes_.is_known_fully(program_, type.name.text);
  }

  void link_parent(Service& child) {
    if (!child.extends) return;
    const Name& name = *child.extends;
    const Definition* definition = scopes_.type_or_service(program_, name.text);
    if (definition == nullptr) {
      if (!scopes_.is_known_fully(program_, name.text)) return;
      const Include* missing = scopes_.missing_include(program_, name.text);
      report_.error(name.at, [&] {
        return "unknown service '" + name.text + "'" +
               (missing == nullptr ? nearest_name(program_, NameOf::kService, name.text)
                                   : ": '" + missing->path.text + "' was not found");
      });
      return;
    }
    const auto* parent = std::get_if<Service>(&definition->value);
    const bool own = name.text.find('.') == std::string::npos;
    if (parent == nullptr) {
      report_.error(name.at, "'" + name.text + "' is a type, not a service");
    } else if (own && parent->name.at.begin >= child.name.at.begin) {
      report_.error(name.at, "service '" + name.text + "' must be defined before this one");
    } else if (extends_depth(*parent) >= kExtendsDepthMax) {
      report_.error(name.at, "services extend each other more than " +
                                 std::to_string(kExtendsDepthMax) + " deep");
    } else {
      child.parent = parent;
    }
  }

  static size_t extends_depth(const Service& service) {
    size_t depth = 1;
    for (const Service* base = service.parent; base != nullptr; base = base->parent) ++depth;
    return depth;
  }

  // Sets the member `meaning` of each typedef. If typedef A uses typedef B, handles B before A.
  // Typedefs that remain without a meaning are circular, or use a circular typedef.
  void settle_typedefs() {
    std::unordered_map<const Definition*, std::vector<Typedef*>> waiting;
    std::unordered_map<Typedef*, size_t> unsettled_count;
    std::vector<Typedef*> ready;
    for (const auto& definition : program_.definitions) {
      auto* it = std::get_if<Typedef>(&definition->value);
      if (it == nullptr) continue;
      std::vector<const Definition*> used;
      own_typedefs_in(it->type, used);
      for (const Definition* other : used) waiting[other].push_back(it);
      if (used.empty()) {
        ready.push_back(it);
      } else {
        unsettled_count[it] = used.size();
      }
    }
    std::unordered_map<const Typedef*, const Definition*> definitions;
    for (const auto& definition : program_.definitions) {
      if (auto* it = std::get_if<Typedef>(&definition->value)) definitions[it] = definition.get();
    }
    while (!ready.empty()) {
      Typedef* settled = ready.back();
      ready.pop_back();
      settled->meaning = meaning_of(settled->type);
      for (Typedef* next : waiting[definitions[settled]]) {
        if (--unsettled_count[next] == 0) {
          unsettled_count.erase(next);
          ready.push_back(next);
        }
      }
    }
    for (const auto& [left, count] : unsettled_count) {
      report_.error(left->name.at,
                    "typedef '" + left->name.text + "' is circular, or uses a circular typedef");
      forget(left->type);
    }
  }

  void own_typedefs_in(const Type& type, std::vector<const Definition*>& used) const {
    for (const Type& element : type.elements) own_typedefs_in(element, used);
    const bool own = type.definition != nullptr && type.name.text.find('.') == std::string::npos;
    if (own && std::holds_alternative<Typedef>(type.definition->value)) {
      used.push_back(type.definition);
    }
  }

  static void forget(Type& type) {
    for (Type& element : type.elements) forget(element);
    type.definition = nullptr;
  }

  Program& program_;
  bool is_included_;
  const Scopes& scopes_;
  Report& report_;
};

}  // namespace

void resolve(Idl& idl, Diagnostics& diagnostics) {
  const Scopes scopes(idl);
  for (const auto& program : idl.programs) {
    Report report(*program, diagnostics);
    const bool is_included = program.get() != idl.main;
    Linker(*program, is_included, scopes, report).run();
    check_rules(*program, scopes, report);
  }
}

}  // namespace hat::hintgen
