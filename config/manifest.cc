// SPDX-License-Identifier: Apache-2.0
#include "config/manifest.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <map>

#include "config/hint_values.h"
#include "config/names.h"
#include "config/yaml.h"
#include "config/yaml_text.h"

namespace hat {
namespace {

constexpr uint64_t kVersion = 1;

Hints read_hints(const YamlValue& value, std::string_view what) {
  Hints hints;
  read_names(value, what, [&](const std::string& key, const YamlValue& at, const YamlValue& v) {
    const auto text = is_hint_key(key) ? read_text(v, key) : std::optional<std::string>("");
    if (!text) return;
    const auto set = set_hint(hints, key, *text);
    if (!set) (is_hint_key(key) ? v : at).error(set.error().message);
  });
  return hints;
}

std::vector<YamlKey> hint_group_keys(HintGroups& hints) {
  return {
      {"hint", false, [&](const YamlValue& v) { hints.both = read_hints(v, "hint"); }},
      {"c_hint", false, [&](const YamlValue& v) { hints.client = read_hints(v, "c_hint"); }},
      {"s_hint", false, [&](const YamlValue& v) { hints.server = read_hints(v, "s_hint"); }},
  };
}

YamlKey origin_key(std::string& origin) {
  return {"origin", false,
          [&](const YamlValue& v) { origin = read_text(v, "origin").value_or(""); }};
}

// Reads the keys `allow` and `allow_mode`, which together form one rule.
struct AccessKeys {
  bool given = false;
  std::vector<std::string> allow;
  std::optional<bool> dry_run;
  std::optional<YamlValue> mode_at;

  void add_to(std::vector<YamlKey>& keys) {
    const auto read_allow = [this](const YamlValue& value) {
      given = true;
      allow = read_identity_rules(value, "allow");
    };
    const auto read_mode = [this](const YamlValue& value) {
      mode_at = value;
      const auto word = read_word(value, "allow_mode", {"enforce", "dry_run"});
      if (word) dry_run = *word == 1;
    };
    keys.push_back({"allow", false, read_allow});
    keys.push_back({"allow_mode", false, read_mode});
  }
  std::optional<AccessRule> rule() const {
    if (!allow.empty()) return AccessRule{allow, dry_run.value_or(false)};
    if (mode_at && !given)
      mode_at->error("allow_mode has no effect without `allow`; add `allow`, or remove allow_mode");
    return std::nullopt;
  }
};

// Reads a mapping of fields, such as {1: string, 2: "required list<i32>"}: the arguments of a
// function, or the fields of a struct or union. `types` are the types of the service.
FieldSpecs read_fields(const YamlValue& value, std::string_view what, const NamedTypes& types) {
  FieldSpecs fields;
  read_names(value, what, [&](const std::string&, const YamlValue& key, const YamlValue& v) {
    const auto id = read_number(key, "a field's id", INT16_MIN, INT16_MAX);
    const auto text = read_text(v, "a field's type");
    if (!id || !text) return;
    auto field = parse_field(*text, types);
    if (!field) return v.error(field.error().message);
    field->id = static_cast<int16_t>(*id);
    if (!add_field(fields, std::move(*field))) {
      key.error("field " + std::to_string(*id) + " appears twice");
    }
  });
  return fields;
}

constexpr std::string_view kUnion = "union";
constexpr std::string_view kEnum = "enum";

NamedType::Kind kind_of_type(const YAML::Node& type) {
  const bool has_one_key = type.IsMap() && type.size() == 1;
  const YAML::Node key = has_one_key ? type.begin()->first : YAML::Node();
  if (!key.IsScalar()) return NamedType::Kind::kStruct;
  if (key.Scalar() == kUnion) return NamedType::Kind::kUnion;
  return key.Scalar() == kEnum ? NamedType::Kind::kEnum : NamedType::Kind::kStruct;
}

// Returns only the names and kinds of the types of a service. The caller needs them before it reads
// anything else, because arguments can use types that appear later in the file.
NamedTypes names_of_types(const YamlValue& service) {
  NamedTypes types;
  for (const auto& key : service.node) {
    if (!service.node.IsMap() || !key.first.IsScalar() || key.first.Scalar() != "types") continue;
    if (!key.second.IsMap()) continue;
    for (const auto& type : key.second) {
      if (!type.first.IsScalar()) continue;
      types.push_back({.name = type.first.Scalar(), .kind = kind_of_type(type.second)});
    }
  }
  return types;
}

std::vector<int32_t> read_values(const YamlValue& value) {
  std::vector<int32_t> values;
  read_items(value, kEnum, [&](const YamlValue& item) {
    const auto number = read_number(item, "an enum's value", INT32_MIN, INT32_MAX);
    if (number && !add_value(values, static_cast<int32_t>(*number))) {
      item.error("value " + std::to_string(*number) + " appears twice");
    }
  });
  return values;
}

NamedTypes read_types(const YamlValue& value, const NamedTypes& names) {
  NamedTypes types;
  read_names(value, "types",
             [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
               read_identifier(key, "a type's name");
               if (is_type_word(name))
                 key.error("'" + name + "' is a built-in type of Thrift; choose another name");
               NamedType type{.name = name, .kind = kind_of_type(v.node)};
               const std::string what = "type " + name;
               switch (type.kind) {
                 case NamedType::Kind::kStruct:
                   type.fields = read_fields(v, what, names);
                   break;
                 case NamedType::Kind::kUnion:
                   read_keys(v, what, {{kUnion, true, [&](const YamlValue& fields) {
                                          type.fields = read_fields(fields, what, names);
                                        }}});
                   break;
                 case NamedType::Kind::kEnum:
                   read_keys(v, what, {{kEnum, true, [&](const YamlValue& values) {
                                          type.values = read_values(values);
                                        }}});
               }
               types.push_back(std::move(type));
             });
  return types;
}

FunctionSpec read_function(const std::string& name, const YamlValue& value,
                           const NamedTypes& types) {
  FunctionSpec function{.name = name};
  if (value.node.IsNull()) return function;  // the key alone ("get:"): a function without hints
  std::vector<YamlKey> keys = hint_group_keys(function.hints);
  keys.insert(
      keys.begin(),
      {origin_key(function.origin),
       {"oneway", false,
        [&](const YamlValue& v) { function.oneway = read_bool(v, "oneway").value_or(false); }},
       {"arguments", false,
        [&](const YamlValue& v) { function.arguments = read_fields(v, "arguments", types); }}});
  AccessKeys access;
  access.add_to(keys);
  read_keys(value, "function " + name, keys);
  function.access = access.rule();
  return function;
}

ServiceSpec read_service(const std::string& name, const YamlValue& value) {
  ServiceSpec service{.name = name};
  if (value.node.IsNull()) return service;
  const NamedTypes type_names = names_of_types(value);
  std::vector<YamlKey> keys = hint_group_keys(service.hints);
  keys.insert(keys.begin(), origin_key(service.origin));
  const auto read_functions = [&](const YamlValue& functions) {
    read_names(functions, "functions",
               [&](const std::string& function, const YamlValue& key, const YamlValue& v) {
                 read_identifier(key, "a function's name");
                 service.functions.push_back(read_function(function, v, type_names));
               });
  };
  keys.push_back({"functions", false, read_functions});
  keys.push_back({"types", false,
                  [&](const YamlValue& types) { service.types = read_types(types, type_names); }});
  keys.push_back({"allow_unknown_fields", false, [&](const YamlValue& v) {
                    service.allow_unknown_fields =
                        read_bool(v, "allow_unknown_fields").value_or(false);
                  }});
  AccessKeys access;
  access.add_to(keys);
  read_keys(value, "service " + name, keys);
  service.access = access.rule();
  return service;
}

// Reads a manifest. Appends the source location of each service to `locations`, which
// load_manifests() needs.
Manifest read(const std::string& text, const std::string& file, Diagnostics& diagnostics,
              std::vector<SourceLocation>& locations) {
  Manifest manifest;
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return manifest;
  read_keys(*document, "manifest",
            {{"hatrpc_manifest", true,
              [](const YamlValue& v) { read_number(v, "hatrpc_manifest", kVersion, kVersion); }},
             {"source", false,
              [&](const YamlValue& v) { manifest.source = read_text(v, "source").value_or(""); }},
             {"services", true, [&](const YamlValue& services) {
                read_names(services, "services",
                           [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
                             read_identifier(key, "a service's name");
                             locations.push_back(key.location());
                             manifest.services.push_back(read_service(name, v));
                           });
              }}});
  return manifest;
}

void emit_hints(YAML::Emitter& out, const char* key, const Hints& hints) {
  if (hints.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
  for (const auto& [name, value] : hint_words(hints))
    out << YAML::Key << name << YAML::Value << value;
  out << YAML::EndMap;
}

void emit_hint_groups(YAML::Emitter& out, const HintGroups& hints) {
  emit_hints(out, "hint", hints.both);
  emit_hints(out, "c_hint", hints.client);
  emit_hints(out, "s_hint", hints.server);
}

void emit_origin(YAML::Emitter& out, const std::string& origin) {
  if (origin.empty()) return;
  out << YAML::Key << "origin" << YAML::Value;
  emit_yaml_text(out, origin);
}

void emit_access(YAML::Emitter& out, const std::optional<AccessRule>& access) {
  if (!access) return;
  out << YAML::Key << "allow" << YAML::Value << YAML::Flow << YAML::BeginSeq;
  for (const std::string& rule : access->allow) emit_yaml_text(out, rule);
  out << YAML::EndSeq;
  if (access->dry_run) out << YAML::Key << "allow_mode" << YAML::Value << "dry_run";
}

void emit_fields(YAML::Emitter& out, const FieldSpecs& fields, const NamedTypes& types) {
  out << YAML::Flow << YAML::BeginMap;
  for (const FieldSpec& field : fields) {
    out << YAML::Key << field.id << YAML::Value;
    emit_yaml_text(out, to_string(field, types));
  }
  out << YAML::EndMap;
}

void emit_type(YAML::Emitter& out, const NamedType& type, const NamedTypes& types) {
  if (type.kind == NamedType::Kind::kStruct) return emit_fields(out, type.fields, types);
  out << YAML::Flow << YAML::BeginMap << YAML::Key;
  if (type.kind == NamedType::Kind::kUnion) {
    out << std::string(kUnion) << YAML::Value;
    emit_fields(out, type.fields, types);
  } else {
    out << std::string(kEnum) << YAML::Value << YAML::Flow << type.values;
  }
  out << YAML::EndMap;
}

void emit_types(YAML::Emitter& out, const NamedTypes& types) {
  if (types.empty()) return;
  out << YAML::Key << "types" << YAML::Value << YAML::BeginMap;
  for (const NamedType& type : types) {
    out << YAML::Key;
    emit_yaml_text(out, type.name);
    out << YAML::Value;
    emit_type(out, type, types);
  }
  out << YAML::EndMap;
}

void emit_service(YAML::Emitter& out, const ServiceSpec& service) {
  out << YAML::Key;
  emit_yaml_text(out, service.name);
  out << YAML::Value << YAML::BeginMap;
  emit_origin(out, service.origin);
  emit_hint_groups(out, service.hints);
  emit_access(out, service.access);
  out << YAML::Key << "functions" << YAML::Value << YAML::BeginMap;
  for (const FunctionSpec& function : service.functions) {
    out << YAML::Key;
    emit_yaml_text(out, function.name);
    out << YAML::Value << YAML::BeginMap;
    emit_origin(out, function.origin);
    out << YAML::Key << "oneway" << YAML::Value << function.oneway;
    if (function.arguments) {
      out << YAML::Key << "arguments" << YAML::Value;
      emit_fields(out, *function.arguments, service.types);
    }
    emit_hint_groups(out, function.hints);
    emit_access(out, function.access);
    out << YAML::EndMap;
  }
  out << YAML::EndMap;
  emit_types(out, service.types);
  if (service.allow_unknown_fields) {
    out << YAML::Key << "allow_unknown_fields" << YAML::Value << true;
  }
  out << YAML::EndMap;
}

}  // namespace

Manifest read_manifest(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  std::vector<SourceLocation> locations;
  return read(text, file, diagnostics, locations);
}

Manifest load_manifests(const std::vector<ConfigPath>& paths, Diagnostics& diagnostics) {
  Manifest all;
  std::map<std::string, SourceLocation> known;
  for (const std::string& file : config_files("manifests", paths, diagnostics)) {
    const auto text = read_file(file, diagnostics);
    if (!text) continue;
    std::vector<SourceLocation> locations;
    Manifest manifest = read(*text, file, diagnostics, locations);
    for (size_t i = 0; i < manifest.services.size(); ++i) {
      const auto [before, is_new] = known.emplace(manifest.services[i].name, locations[i]);
      if (!is_new) {
        diagnostics.error(locations[i], "service '" + manifest.services[i].name +
                                            "' appears twice; first at " +
                                            to_string(before->second));
        continue;
      }
      all.services.push_back(std::move(manifest.services[i]));
    }
  }
  return all;
}

std::string write_manifest(const Manifest& manifest) {
  YAML::Emitter out;
  out << YAML::BeginMap;
  out << YAML::Key << "hatrpc_manifest" << YAML::Value << kVersion;
  if (!manifest.source.empty()) {
    out << YAML::Key << "source" << YAML::Value;
    emit_yaml_text(out, manifest.source);
  }
  out << YAML::Key << "services" << YAML::Value << YAML::BeginMap;
  for (const ServiceSpec& service : manifest.services) emit_service(out, service);
  out << YAML::EndMap << YAML::EndMap;
  return std::string(kWrittenByHintgen) +
         " You may edit the hints; `hatctl reload` applies them: docs/hints.md\n" +
         std::string(out.c_str()) + "\n";
}

}  // namespace hat
