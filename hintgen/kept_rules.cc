// SPDX-License-Identifier: Apache-2.0
#include "hintgen/kept_rules.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

namespace hat::hintgen {
namespace {

// Returns the text of the file at `path`, to which hintgen will write. Returns "" if `path` is not
// a regular file, because hintgen may write to a pipe but must not read from it.
std::string text_at(const std::string& path) {
  std::error_code error;
  if (path == "-" || !std::filesystem::is_regular_file(path, error)) return "";
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

template <class Spec>
Spec* find(std::vector<Spec>& specs, const std::string& name) {
  const auto found = std::ranges::find(specs, name, &Spec::name);
  return found == specs.end() ? nullptr : &*found;
}

std::unexpected<Error> no_longer_there(const std::string& path, const std::string& what) {
  return fail(ErrorCode::kBusy,
              path + " has access rules (`allow`) for " + what +
                  ", which the IDL does not have; remove these rules from the file first");
}

Result<void> keep(const std::string& path, const ServiceSpec& before,
                  std::vector<ServiceSpec>& all) {
  const auto has_rule = [](const FunctionSpec& function) { return function.access.has_value(); };
  const bool any_in_functions = std::ranges::any_of(before.functions, has_rule);
  if (!before.access && !before.allow_unknown_fields && !any_in_functions) return {};
  ServiceSpec* service = find(all, before.name);
  if (service == nullptr) return no_longer_there(path, before.name);
  service->access = before.access;
  service->allow_unknown_fields = before.allow_unknown_fields;
  for (const FunctionSpec& one : before.functions) {
    if (!one.access) continue;
    FunctionSpec* function = find(service->functions, one.name);
    if (function == nullptr) return no_longer_there(path, before.name + "." + one.name);
    function->access = one.access;
  }
  return {};
}

}  // namespace

Result<void> keep_rules(const std::string& path, Manifest& manifest) {
  const std::string text = text_at(path);
  if (!text.contains("allow")) return {};
  Diagnostics diagnostics;
  const Manifest before = read_manifest(text, path, diagnostics);
  if (diagnostics.any_errors()) {
    return fail(ErrorCode::kBusy,
                path + " exists and may have access rules (`allow`), but it cannot be read: " +
                    "correct the file, or remove it\n" + diagnostics.text());
  }
  for (const ServiceSpec& service : before.services) {
    HAT_TRY_VOID(keep(path, service, manifest.services));
  }
  return {};
}

}  // namespace hat::hintgen
