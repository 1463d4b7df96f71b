// SPDX-License-Identifier: Apache-2.0
#include "daemon/routing/route_changes.h"

#include <algorithm>
#include <map>
#include <set>

#include "config/hint_values.h"

namespace hat {
namespace {

// Returns the parts of `plan` that describe() omits, as pairs of a hint's key and value.
std::vector<std::pair<std::string, std::string>> details(const engine::Plan& plan) {
  Hints hints;
  hints.payload_bytes = plan.slot_bytes;
  hints.numa = plan.numa;
  hints.priority = plan.priority;
  hints.timeout = plan.timeout;
  hints.idempotent = plan.idempotent;
  hints.plan = plan.learned ? PlanSource::kLearned : PlanSource::kHinted;
  return hint_words(hints);
}

std::string details_changed(const engine::Plan& before, const engine::Plan& after) {
  std::map<std::string, std::pair<std::string, std::string>> values;
  for (const auto& [key, value] : details(before)) values[key] = {value, "none"};
  for (const auto& [key, value] : details(after)) {
    auto& was_and_is = values.try_emplace(key, "none", "").first->second;
    was_and_is.second = value;
  }
  std::string text;
  for (const auto& [key, was_and_is] : values) {
    const auto& [was, is] = was_and_is;
    if (was != is) text += (text.empty() ? "" : ", ") + key + " " + was + " → " + is;
  }
  return text;
}

// `name` is the function and side. The plans must differ.
RouteChange plan_change(const std::string& name, const engine::Plan& before,
                        const engine::Plan& after) {
  const std::string was = describe(before);
  const std::string is = describe(after);
  if (was != is) return {name + was + " → " + is, after.reason};
  const std::string changed = details_changed(before, after);
  if (!changed.empty()) return {name + changed, after.reason};
  return {.text = name + is + " unchanged; the reason is now: " + after.reason,
          .reason = after.reason,
          .only_reason = true};
}

std::string protocol_name(engine::ProtocolId id) { return std::string(engine::protocol(id).name); }

// Returns the protocols that this node requests for replies, by the column of the server's host.
std::string replies_text(const WantedLanes& lanes) {
  const auto& [under, full, over] = lanes.small.by_column;  // the replies of `large` are the same
  if (under.response == full.response && full.response == over.response) {
    return protocol_name(under.response);
  }
  std::string text = "under " + protocol_name(under.response) + ", full " +
                     protocol_name(full.response) + ", over " + protocol_name(over.response);
  Hints hints;
  hints.concurrency = lanes.small.callers;
  for (const auto& [key, value] : hint_words(hints)) text += " (" + key + " " + value + ")";
  return text;
}

std::string access_text(const std::optional<AccessRule>& access) {
  if (!access) return "everybody";
  std::string text;
  for (const std::string& rule : access->allow) text += (text.empty() ? "" : ", ") + rule;
  return access->dry_run ? text + " (dry run)" : text;
}

// Adds the changes of plans for calls to peers that have or had a plan of their own.
void add_changes_to_peers(const Route& before, const Route& after,
                          std::vector<RouteChange>& changes) {
  std::set<std::string> peers;
  for (const auto& [peer, plan] : before.client_to) peers.insert(peer);
  for (const auto& [peer, plan] : after.client_to) peers.insert(peer);
  for (const std::string& peer : peers) {
    const CallPlan& was = before.to(peer);
    const CallPlan& is = after.to(peer);
    const std::string name = after.service + "." + after.method + ": client, to " + peer + ": ";
    if (was.plan != is.plan) changes.push_back(plan_change(name, was.plan, is.plan));
    const std::string replied = replies_text(was.lanes);
    const std::string replies = replies_text(is.lanes);
    if (replied != replies) changes.push_back({name + "replies: " + replied + " → " + replies});
  }
}

void add_changes(const Route& before, const Route& after, std::vector<RouteChange>& changes) {
  const std::string name = after.service + "." + after.method + ": ";
  if (before.oneway != after.oneway) {
    changes.push_back({name + (after.oneway ? "oneway now" : "not oneway any more")});
  }
  if (before.client.plan != after.client.plan) {
    changes.push_back(plan_change(name + "client: ", before.client.plan, after.client.plan));
  }
  add_changes_to_peers(before, after, changes);
  if (before.server != after.server) {
    changes.push_back(plan_change(name + "server: ", before.server, after.server));
  }
  const std::string replied = replies_text(before.client.lanes);
  const std::string replies = replies_text(after.client.lanes);
  if (replied != replies && describe(before.server) == describe(after.server)) {
    changes.push_back({name + "replies from other hosts: " + replied + " → " + replies});
  }
  if (before.access != after.access) {
    changes.push_back(
        {name + "allow: " + access_text(before.access) + " → " + access_text(after.access)});
  }
  if (before.arguments != after.arguments) changes.push_back({name + "arguments: changed"});
}

// Returns the route of the function `method`; nullptr if no manifest names the function.
const Route* listed(const ServiceRoutes* service, const std::string& method) {
  if (service == nullptr) return nullptr;
  const auto found = std::ranges::find(service->functions(), method, &Route::method);
  return found == service->functions().end() ? nullptr : &*found;
}

}  // namespace

std::vector<RouteChange> route_changes(const RoutingTable& before, const RoutingTable& after) {
  std::vector<RouteChange> changes;
  for (const auto& service : after.services()) {
    const ServiceRoutes* old = before.find(service->name());
    for (const Route& route : service->functions()) {
      if (const Route* was = listed(old, route.method)) {
        add_changes(*was, route, changes);
      } else {
        changes.push_back(
            {service->name() + "." + route.method + ": new, " + describe(route.client.plan)});
      }
    }
    if (old == nullptr) continue;
    add_changes(old->other(), service->other(), changes);
    if (*old->other().types != *service->other().types) {
      changes.push_back({service->name() + ": types: changed"});
    }
    if (old->other().allow_unknown_fields != service->other().allow_unknown_fields) {
      changes.push_back({service->name() + ": allow_unknown_fields: " +
                         (service->other().allow_unknown_fields ? "true" : "false")});
    }
  }
  for (const auto& service : before.services()) {
    for (const Route& route : service->functions()) {
      if (listed(after.find(service->name()), route.method) == nullptr) {
        changes.push_back({service->name() + "." + route.method + ": removed from the manifests"});
      }
    }
  }
  return changes;
}

std::vector<std::string> texts_of(const std::vector<RouteChange>& changes) {
  std::vector<std::string> texts;
  for (const RouteChange& change : changes) texts.push_back(change.text);
  return texts;
}

}  // namespace hat
