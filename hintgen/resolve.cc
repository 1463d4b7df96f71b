// hintgen/resolve.cc: links types, typedefs and parent services across files.
#include "hintgen/resolve.h"

#include <unordered_map>
#include <utility>
#include <vector>

#include "hintgen/nearest_name.h"
#include "hintgen/report.h"
#include "hintgen/rules.h"
#include "hintgen/scope.h"

namespace hat::hintgen {
namespace {

// Links the names of one file, whose includes are done.
class Linker {
 public:
  Linker(Program& program, const Scopes& scopes, Mistakes& mistakes)
      : program_(program), scopes_(scopes), report_(program, mistakes) {}

  void run() {
    for (const auto& definition : program_.definitions) {
      std::visit([this](auto& it) { link(it); }, definition->value);
    }
    settle_typedefs();
  }

 private:
  void link(Const& it) { link(it.type); }
  void link(Typedef& it) { link(it.type); }
  void link(Enum&) {}
  void link(Struct& it) { link(it.fields); }
  void link(Service& it) {
    link_parent(it);
    for (Function& function : it.functions) {
      link(function.result);
      link(function.arguments);
      link(function.exceptions);
    }
  }

  void link(std::vector<Field>& fields) {
    for (Field& field : fields) {
      link(field.type);
      link(field.xsd_attributes);
    }
  }

  void link(Type& type) {
    for (Type& element : type.elements) link(element);
    if (type.kind != TypeKind::kNamed) return;
    const std::string& name = type.name.text;
    type.definition = scopes_.type_or_service(program_, name);
    if (type.definition == nullptr && name == "uuid") {  // a base type since 0.18, if not a name
      type.kind = TypeKind::kUuid;
      return;
    }
    if (!type.annotations.at.empty()) {
      report_.error(type.annotations.at, "no annotations may follow the name of a type");
    }
    if (type.definition == nullptr) {
      tell_unknown_type(type.name);
    } else if (std::holds_alternative<Service>(type.definition->value)) {
      report_.error(type.name.at, "'" + name + "' is a service, not a type");
      type.definition = nullptr;
    }
  }

  void tell_unknown_type(const Name& name) {
    if (!scopes_.is_known_fully(program_, name.text)) return;
    std::string message = "unknown type '" + name.text + "'";
    if (const Include* missing = scopes_.missing_include(program_, name.text)) {
      message += ": '" + missing->path.text + "' was not found";
    } else if (name.text == "slist") {
      message += ": it is gone from Thrift; use 'string'";
    } else {
      message += nearest_name(program_, NameOf::kType, name.text);
    }
    report_.error(name.at, std::move(message));
  }

  void link_parent(Service& child) {
    if (!child.extends) return;
    const Name& name = *child.extends;
    const Definition* definition = scopes_.type_or_service(program_, name.text);
    if (definition == nullptr) {
      if (!scopes_.is_known_fully(program_, name.text)) return;
      const Include* missing = scopes_.missing_include(program_, name.text);
      report_.error(name.at,
                    "unknown service '" + name.text + "'" +
                        (missing == nullptr ? nearest_name(program_, NameOf::kService, name.text)
                                            : ": '" + missing->path.text + "' was not found"));
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

  // Gives each typedef the type behind it, those first that rest on no unsettled one. Whatever is
  // left over goes in a circle, or leads into one.
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
      report_.error(left->name.at, "typedef '" + left->name.text + "' goes in a circle");
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
  const Scopes& scopes_;
  Report report_;
};

}  // namespace

void resolve(Idl& idl, Mistakes& mistakes) {
  const Scopes scopes(idl);
  for (const auto& program : idl.programs) {
    Linker(*program, scopes, mistakes).run();
    check_rules(*program, scopes, mistakes);
  }
}

}  // namespace hat::hintgen
