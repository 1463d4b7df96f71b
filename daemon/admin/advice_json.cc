// SPDX-License-Identifier: Apache-2.0
#include "daemon/admin/advice_json.h"

#include "daemon/routing/advice.h"

namespace hat {

using nlohmann::json;

namespace {

json text_or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(); }

json proposal_json(const Route& route, const Proposal& proposal) {
  const HintChange& change = proposal.change;
  return {{"service", route.service},
          {"function", route.method},
          {"side", proposal.side == Side::kClient ? "client" : "server"},
          {"changes", json::array({{{"group", change.group},
                                    {"key", change.key},
                                    {"from", text_or_null(change.from)},
                                    {"to", text_or_null(change.to)}}})},
          {"evidence", proposal.evidence},
          {"gain", proposal.gain}};
}

}  // namespace

json advice_json(Control& control) {
  const auto routes = control.routes();
  const Observations& observations = control.observations();
  json proposals = json::array();
  for (const auto& service : routes->services()) {
    for (const Route& route : service->functions()) {
      const std::array seen = {observations.of(*route.metrics, Side::kClient),
                               observations.of(*route.metrics, Side::kServer)};
      for (const Proposal& proposal : advise(route, seen, routes->host())) {
        proposals.push_back(proposal_json(route, proposal));
      }
    }
  }
  using std::chrono::duration_cast;
  return {{"window_seconds", duration_cast<std::chrono::seconds>(observations.window()).count()},
          {"proposals", proposals}};
}

}  // namespace hat
