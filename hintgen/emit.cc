// SPDX-License-Identifier: Apache-2.0
// hintgen/emit.cc: copies inherited functions and hints into each service, and formats the table of
// plans.
#include "hintgen/emit.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <variant>
#include <vector>

#include "config/names.h"
#include "engine/plan/idle_hints.h"
#include "hintgen/signatures.h"

namespace hat::hintgen {
namespace {

using Origins = std::unordered_map<const Service*, const SourceFile*>;

Origins origins_of(const Idl& idl) {
  Origins origins;
  for (const auto& program : idl.programs) {
    for (const auto& definition : program->definitions) {
      if (const auto* service = std::get_if<Service>(&definition->value)) {
        origins[service] = program->source.get();
      }
    }
  }
  return origins;
}

ServiceSpec make_service(const Service& service, const Origins& origins, Signatures& signatures) {
  ServiceSpec spec{.name = service.name.text,
                   .origin = to_string(origins.at(&service)->location(service.name.at))};
  std::vector<const Service*> bases_first;
  for (const Service* base = &service; base != nullptr; base = base->parent) {
    bases_first.push_back(base);
  }
  std::reverse(bases_first.begin(), bases_first.end());
  for (const Service* base : bases_first) {
    spec.hints = overlay(base->hints, spec.hints);
    for (const Function& function : base->functions) {
      spec.functions.push_back({.name = function.name.text,
                                .oneway = function.oneway,
                                .hints = function.hints,
                                .origin = to_string(origins.at(base)->location(function.name.at)),
                                .arguments = signatures.arguments_of(function)});
    }
  }
  spec.types = signatures.take_types();
  return spec;
}

// Returns the number of columns that `text` takes on a terminal. This differs from the number of
// bytes, because plans contain '≤', which has three bytes but takes one column.
size_t shown_width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

using Row = std::array<std::string, 5>;

// Returns the rows as text. Pads the cells of each column to the width of its longest cell, except
// in the last column.
std::string aligned(const std::vector<Row>& rows) {
  std::array<size_t, std::tuple_size_v<Row>> widths{};
  for (const Row& row : rows) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], shown_width(row[i]));
  }
  std::string text;
  for (const Row& row : rows) {
    for (size_t i = 0; i + 1 < row.size(); ++i) {
      text += row[i] + std::string(widths[i] - shown_width(row[i]) + 2, ' ');
    }
    text += row.back() + "\n";
  }
  return text;
}

std::vector<Side> sides_of(std::optional<Side> side) {
  return side ? std::vector<Side>{*side} : std::vector<Side>{Side::kClient, Side::kServer};
}

// Appends a sentence for each hint of which hintgen cannot know whether a host honours it.
void warn_of_numa(const ServiceSpec& service, std::optional<Side> side,
                  std::vector<std::string>& warnings) {
  std::map<std::string, std::vector<std::string>> wanting;  // the functions, by the value of `numa`
  for (const FunctionSpec& function : service.functions) {
    std::set<std::string> values;
    for (const Side one : sides_of(side)) {
      const auto numa = effective(function.hints, service.hints, one).numa;
      if (!numa || *numa == Numa(NumaWord::kAny)) continue;
      const auto* number = std::get_if<uint32_t>(&*numa);
      values.insert(number == nullptr ? "nic" : std::to_string(*number));
    }
    for (const std::string& value : values) wanting[value].push_back(function.name);
  }
  for (const auto& [value, functions] : wanting) {
    const std::string node = value == "nic" ? "the NUMA node of the RDMA device" : "node " + value;
    warnings.push_back(service.name + ": numa: " + value + " (" + names_text(functions) +
                       ") is honoured only on hosts whose workers run on " + node +
                       " (`worker_cores` in hatrpcd.yaml); `hatrpcd --check` and `hatctl routes` "
                       "say whether a host honours it");
  }
}

// Appends a sentence for each of engine::idle_hints(), with the functions that have the hint.
void warn_of_idle_hints(const ServiceSpec& service, const engine::HostFacts& host,
                        std::optional<Side> side, std::vector<std::string>& warnings) {
  // The functions of each side, by the hint and the reason.
  std::map<std::pair<std::string, std::string>, std::map<Side, std::vector<std::string>>> idle;
  for (const FunctionSpec& function : service.functions) {
    for (const Side one : sides_of(side)) {
      for (const engine::IdleHint& hint : idle_hints(function.hints, service.hints, one, host)) {
        idle[{hint.hint, hint.why}][one].push_back(function.name);
      }
    }
  }
  for (const auto& [hint, functions] : idle) {
    const auto warn = [&](const std::string& where, const std::vector<std::string>& names) {
      warnings.push_back(service.name + ": the hint " + hint.first +
                         " changes nothing in how hatrpcd carries the calls of " +
                         names_text(names) + where + ": " + hint.second);
    };
    if (functions.size() == 2 && functions.begin()->second == functions.rbegin()->second) {
      warn("", functions.begin()->second);
      continue;
    }
    for (const auto& [one, names] : functions) {
      warn(one == Side::kClient ? " (client's side)" : " (server's side)", names);
    }
  }
}

}  // namespace

Manifest make_manifest(const Idl& idl) {
  const Origins origins = origins_of(idl);
  Signatures signatures(idl);
  Manifest manifest{.source = idl.main->source->path()};
  for (const auto& definition : idl.main->definitions) {
    if (const auto* service = std::get_if<Service>(&definition->value)) {
      manifest.services.push_back(make_service(*service, origins, signatures));
    }
  }
  return manifest;
}

std::string explain(const Manifest& manifest, const engine::HostFacts& host,
                    std::optional<Side> side) {
  std::vector<Row> rows = {{"SERVICE", "FUNCTION", "SIDE", "PLAN", "REASON"}};
  for (const ServiceSpec& service : manifest.services) {
    for (const FunctionSpec& function : service.functions) {
      for (const Side one : sides_of(side)) {
        Hints hints = effective(function.hints, service.hints, one);
        if (function.oneway || one == Side::kServer) hints.plan.reset();  // nothing is learned
        const engine::Plan plan = engine::make_plan(hints, host);
        rows.push_back({service.name, function.name, one == Side::kClient ? "client" : "server",
                        engine::describe(plan), plan.reason});
      }
    }
  }
  std::string text = aligned(rows);
  for (const ServiceSpec& service : manifest.services) {
    std::vector<std::string> warnings;
    warn_of_numa(service, side, warnings);
    warn_of_idle_hints(service, host, side, warnings);
    for (const std::string& warning : warnings) text += "\nwarning: " + warning;
  }
  return text.ends_with('\n') ? text : text + "\n";
}

}  // namespace hat::hintgen
