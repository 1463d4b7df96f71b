// SPDX-License-Identifier: Apache-2.0
#include "config/profile.h"

#include <algorithm>
#include <cstdio>

#include "base/number.h"
#include "config/yaml.h"
#include "config/yaml_text.h"

namespace hat {
namespace {

constexpr uint64_t kProfileVersion = 1;
constexpr uint32_t kSizeMax = 1u << 30;
constexpr size_t kSizesMax = 64;
constexpr double kNanosecondsMax = 1e12;

std::optional<double> read_nanoseconds(const YamlValue& value, std::string_view what) {
  const auto text = read_text(value, what);
  if (!text) return std::nullopt;
  const auto ns = parse_number<double>(*text);
  if (ns && *ns >= 0 && *ns <= kNanosecondsMax) return ns;
  value.error(std::string(what) + ": " + in_quotes(*text) +
              "; expected nanoseconds from 0 to 1000000000000, such as 61.2");
  return std::nullopt;
}

std::vector<SizedCost> read_costs(const YamlValue& value, std::string_view what) {
  std::vector<SizedCost> costs;
  read_names(value, what, [&](const std::string& name, const YamlValue& key, const YamlValue& v) {
    const auto bytes = parse_number<uint32_t>(name);
    if (!bytes || *bytes == 0 || *bytes > kSizeMax) {
      return key.error(std::string(what) + ": size " + in_quotes(name) +
                       "; expected bytes from 1 to " + std::to_string(kSizeMax));
    }
    if (!costs.empty() && costs.back().bytes >= *bytes) {
      return key.error(std::string(what) + ": size " + name + " follows " +
                       std::to_string(costs.back().bytes) + "; expected ascending sizes");
    }
    const auto ns = read_nanoseconds(v, what);
    if (ns && costs.size() < kSizesMax) costs.push_back({*bytes, *ns});
  });
  if (value.node.IsMap() && value.node.size() > kSizesMax) {
    value.error(std::string(what) + ": more than " + std::to_string(kSizesMax) +
                " sizes; remove some");
  }
  if (value.node.IsMap() && value.node.size() == 0) {
    value.error(std::string(what) + " is empty; expected {BYTES: NANOSECONDS, …}");
  }
  return costs;
}

YamlKey sized(std::string_view key, bool required, std::vector<SizedCost>& costs) {
  return {key, required, [key, &costs](const YamlValue& v) { costs = read_costs(v, key); }};
}

YamlKey single(std::string_view key, bool required, double& cost) {
  return {key, required,
          [key, &cost](const YamlValue& v) { cost = read_nanoseconds(v, key).value_or(0); }};
}

YamlKey words(std::string_view key, bool required, std::string& text) {
  return {key, required,
          [key, &text](const YamlValue& v) { text = read_text(v, key).value_or(""); }};
}

std::string rounded(double ns) {
  char text[40];
  std::snprintf(text, sizeof text, "%.1f", ns);
  return text;
}

void emit_costs(YAML::Emitter& out, const char* key, const std::vector<SizedCost>& costs) {
  if (costs.empty()) return;
  out << YAML::Key << key << YAML::Value << YAML::Flow << YAML::BeginMap;
  for (const SizedCost& cost : costs) {
    out << YAML::Key << cost.bytes << YAML::Value << rounded(cost.ns);
  }
  out << YAML::EndMap;
}

}  // namespace

Profile read_profile(const std::string& text, const std::string& file, Diagnostics& diagnostics) {
  Profile profile;
  const auto document = parse_yaml(text, file, diagnostics);
  if (!document) return profile;
  ComponentCosts& costs = profile.costs;
  const auto read_all_costs = [&](const YamlValue& value) {
    read_keys(value, "costs_ns",
              {sized("put", true, costs.put), sized("get", true, costs.get),
               sized("message", true, costs.message), sized("copy", true, costs.copy),
               sized("registration", false, costs.registration),
               sized("pushed_calls", false, costs.pushed_calls),
               sized("fetched_calls", false, costs.fetched_calls),
               single("compare_swap", false, costs.compare_swap_ns),
               single("fetch_add", false, costs.fetch_add_ns),
               single("wake_up", true, costs.wake_up_ns)});
    if (!std::ranges::equal(costs.pushed_calls, costs.fetched_calls, {}, &SizedCost::bytes,
                            &SizedCost::bytes)) {
      value.error(
          "costs_ns: pushed_calls and fetched_calls are compared with each other; give "
          "both with the same sizes, or none");
    }
  };
  read_keys(*document, "profile",
            {{"hatrpc_profile", true,
              [](const YamlValue& v) {
                read_number(v, "hatrpc_profile", kProfileVersion, kProfileVersion);
              }},
             words("node", false, profile.node),
             words("peer", false, profile.peer),
             words("fabric", true, costs.fabric),
             words("device", false, profile.device),
             words("measured", false, profile.measured),
             {"costs_ns", true, read_all_costs}});
  return profile;
}

Profile load_profile(const std::string& file, Diagnostics& diagnostics) {
  const auto text = read_file(file, diagnostics);
  return text ? read_profile(*text, file, diagnostics) : Profile{};
}

std::string write_profile(const Profile& profile) {
  const ComponentCosts& costs = profile.costs;
  YAML::Emitter out;
  out << YAML::BeginMap << YAML::Key << "hatrpc_profile" << YAML::Value << kProfileVersion;
  for (const auto& [key, text] : {std::pair("node", &profile.node),
                                  {"peer", &profile.peer},
                                  {"fabric", &costs.fabric},
                                  {"device", &profile.device},
                                  {"measured", &profile.measured}}) {
    if (text->empty()) continue;
    out << YAML::Key << key << YAML::Value;
    emit_yaml_text(out, *text);
  }
  out << YAML::Key << "costs_ns" << YAML::Value << YAML::BeginMap;
  emit_costs(out, "put", costs.put);
  emit_costs(out, "get", costs.get);
  emit_costs(out, "message", costs.message);
  emit_costs(out, "copy", costs.copy);
  emit_costs(out, "registration", costs.registration);
  emit_costs(out, "pushed_calls", costs.pushed_calls);
  emit_costs(out, "fetched_calls", costs.fetched_calls);
  for (const auto& [key, ns] : {std::pair("compare_swap", costs.compare_swap_ns),
                                {"fetch_add", costs.fetch_add_ns},
                                {"wake_up", costs.wake_up_ns}}) {
    out << YAML::Key << key << YAML::Value << rounded(ns);
  }
  out << YAML::EndMap << YAML::EndMap;
  return "# The fabric's costs, measured by `hatctl calibrate`; the planner uses them if `profile` "
         "in hatrpcd.yaml names this file\n" +
         std::string(out.c_str()) + "\n";
}

}  // namespace hat
