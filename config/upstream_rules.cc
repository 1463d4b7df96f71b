// SPDX-License-Identifier: Apache-2.0
#include "config/upstream_rules.h"

#include <algorithm>
#include <optional>

namespace hat {
namespace {

using Rule = std::optional<AccessRule>;

// Returns `access` if it is a rule that the daemon enforces. Returns nullopt if there is no rule or
// if the rule is a dry run, because the daemon then serves every peer.
Rule enforced(const Rule& access) { return access && !access->dry_run ? access : std::nullopt; }

void add(std::vector<Rule>& rules, const Rule& rule) {
  if (std::ranges::find(rules, rule) == rules.end()) rules.push_back(rule);
}

// Adds to `rules` the rules for the functions of the service. Also adds the rule of the service as
// a whole, which applies to functions that the manifest does not list.
void add_rules_of(const ServiceSpec& service, std::vector<Rule>& rules) {
  add(rules, enforced(service.access));
  for (const FunctionSpec& function : service.functions) {
    add(rules, enforced(function.access ? function.access : service.access));
  }
}

}  // namespace

UpstreamRules rules_at(const Address& upstream, const std::vector<ServedConfig>& serves,
                       const Manifest& manifest) {
  UpstreamRules found;
  std::vector<Rule> here, elsewhere;
  for (const ServedConfig& served : serves) {
    if (served.upstream != upstream || found.has(served.service)) continue;
    found.services.push_back(served.service);
    const bool listed = std::ranges::find(manifest.services, served.service, &ServiceSpec::name) !=
                        manifest.services.end();
    if (!listed) add(here, std::nullopt);
  }
  for (const ServiceSpec& service : manifest.services) {
    add_rules_of(service, found.has(service.name) ? here : elsewhere);
  }
  found.rules_differ = here.size() > 1;
  for (const Rule& rule : elsewhere) add(here, rule);
  for (const Rule& rule : here) {
    if (rule) found.rules.push_back(*rule);
  }
  return found;
}

}  // namespace hat
