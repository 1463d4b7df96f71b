// SPDX-License-Identifier: Apache-2.0
#include "config/learned_choices.h"

#include <map>

#include "config/yaml.h"
#include "config/yaml_text.h"

namespace hat {
namespace {

constexpr uint64_t kLearnedVersion = 1;

void begin_map(YAML::Emitter& out, const std::string& key) {
  out << YAML::Key;
  emit_yaml_text(out, key);
  out << YAML::Value << YAML::BeginMap;
}

}  // namespace

KeptChoices read_kept_choices(const std::string& text, const std::string& file,
                              Diagnostics& diagnostics) {
  KeptChoices kept;
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return kept;
  const auto read_peers = [&](const YamlValue& peers) {
    read_names(peers, "choices", [&](const auto& peer, const auto&, const YamlValue& services) {
      read_names(services, peer, [&](const auto& service, const auto&, const YamlValue& methods) {
        read_names(methods, service, [&](const auto& method, const auto&, const YamlValue& choice) {
          if (auto name = read_text(choice, method)) kept.choices[{peer, service, method}] = *name;
        });
      });
    });
  };
  read_keys(
      *document, "learned choices",
      {{"hatrpc_learned", true,
        [](const YamlValue& v) {
          read_number(v, "hatrpc_learned", kLearnedVersion, kLearnedVersion);
        }},
       {"node", true, [&](const YamlValue& v) { kept.node = read_text(v, "node").value_or(""); }},
       {"choices", true, read_peers}});
  return kept;
}

bool may_be_kept_choices(std::string_view text) {
  return text.empty() || text.contains("hatrpc_learned:");
}

std::string write_kept_choices(const KeptChoices& kept) {
  std::map<std::string, std::map<std::string, std::map<std::string, std::string>>> by_peer;
  for (const auto& [function, choice] : kept.choices) {
    by_peer[function.peer][function.service][function.method] = choice;
  }
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "hatrpc_learned" << YAML::Value << kLearnedVersion;
  out << YAML::Key << "node" << YAML::Value;
  emit_yaml_text(out, kept.node);
  out << YAML::Key << "choices" << YAML::Value << YAML::BeginMap;
  for (const auto& [peer, by_service] : by_peer) {
    begin_map(out, peer);
    for (const auto& [service, by_method] : by_service) {
      begin_map(out, service);
      for (const auto& [method, choice] : by_method) {
        out << YAML::Key;
        emit_yaml_text(out, method);
        out << YAML::Value;
        emit_yaml_text(out, choice);
      }
      out << YAML::EndMap;
    }
    out << YAML::EndMap;
  }
  out << YAML::EndMap << YAML::EndMap;
  return "# What hatrpcd has learned about functions with the hint `plan: learned`. hatrpcd "
         "replaces "
         "this file;\n# to make it learn anew, stop it and delete the file\n" +
         std::string(out.c_str()) + "\n";
}

}  // namespace hat
