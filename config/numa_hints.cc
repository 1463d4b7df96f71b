// SPDX-License-Identifier: Apache-2.0
#include "config/numa_hints.h"

#include <algorithm>
#include <set>

#include "config/names.h"

namespace hat {
namespace {

// The hint `numa` of one side of one function.
struct Wish {
  std::string service;
  std::string method;
  Numa value;
  Result<int> node;  // the wanted node; an error says why the hint cannot be honoured
};

Result<int> wanted_node(const Numa& value, const std::vector<WorkerPlacement>& workers,
                        const HostCores& host) {
  if (std::holds_alternative<NumaWord>(value) && !host.nic_node) {
    return fail(ErrorCode::kNotFound,
                "the NUMA node of the RDMA device is not known: " + host.nic_node.error().message);
  }
  const auto* number = std::get_if<uint32_t>(&value);
  const uint32_t wanted = number == nullptr ? static_cast<uint32_t>(*host.nic_node) : *number;
  if (wanted > kNumaNodeMax || !host.nodes.contains(static_cast<int>(wanted))) {
    return fail(ErrorCode::kNotFound,
                "this host has no NUMA node " + std::to_string(wanted) + " with cores");
  }
  const int node = static_cast<int>(wanted);
  if (std::ranges::find(workers, std::optional(node), &WorkerPlacement::node) != workers.end())
    return node;
  const bool any_bound = std::ranges::any_of(
      workers, [](const WorkerPlacement& worker) { return worker.node.has_value(); });
  return fail(ErrorCode::kNotFound, "no worker runs on node " + std::to_string(node) +
                                        (any_bound ? ": add cores of that node to `worker_cores`"
                                                   : ": the workers are not bound to NUMA nodes; "
                                                     "set `worker_cores`"));
}

// Settles the wishes of functions that share their connections. Returns the node whose workers
// accept these connections; nullopt if all workers do. `sharing` says what the functions share.
std::optional<int> settle(std::vector<Wish>& wishes, const std::string& sharing) {
  std::map<int, std::vector<std::string>> by_node;
  for (const Wish& wish : wishes) {
    if (wish.node) by_node[*wish.node].push_back(wish.service + "." + wish.method);
  }
  if (by_node.empty()) return std::nullopt;
  if (by_node.size() == 1) return by_node.begin()->first;
  std::string why = sharing + ", but want different nodes (";
  for (const auto& [node, names] : by_node) {
    why += (node == by_node.begin()->first ? "" : "; ") + std::to_string(node) + ": " +
           names_text(names);
  }
  why += "), and one worker carries all calls of a connection";
  for (Wish& wish : wishes) {
    if (wish.node) wish.node = fail(ErrorCode::kInvalid, why);
  }
  return std::nullopt;
}

class Resolver {
 public:
  Resolver(const Manifest& manifest, const std::vector<WorkerPlacement>& workers,
           const HostCores& host)
      : manifest_(manifest), workers_(workers), host_(host) {}

  NumaHints resolve(const NodeConfig& node) && {
    for (const EndpointConfig& endpoint : node.endpoints) {
      std::vector<Wish> wishes = wishes_of(endpoint.service, Side::kClient);
      hints_.endpoints.push_back(
          settle(wishes, "the functions of " + endpoint.service + " share its connections"));
      record(wishes, Side::kClient);
    }
    std::vector<Wish> all;
    std::set<std::string> served_names;
    for (const ServedConfig& served : node.serves) {
      if (!served_names.insert(served.service).second) continue;
      std::ranges::move(wishes_of(served.service, Side::kServer), std::back_inserter(all));
    }
    hints_.links = settle(all, "the functions that this node serves share the links of peers");
    record(all, Side::kServer);
    return std::move(hints_);
  }

 private:
  std::vector<Wish> wishes_of(const std::string& name, Side side) const {
    std::vector<Wish> wishes;
    const auto service = std::ranges::find(manifest_.services, name, &ServiceSpec::name);
    if (service == manifest_.services.end()) return wishes;
    const auto add = [&](const FunctionSpec& function) {
      const auto value = effective(function.hints, service->hints, side).numa;
      if (!value || *value == Numa(NumaWord::kAny)) return;
      wishes.push_back({name, function.name, *value, wanted_node(*value, workers_, host_)});
    };
    std::ranges::for_each(service->functions, add);
    add(FunctionSpec{.name = "_other"});  // the functions that the manifest does not list
    return wishes;
  }

  void record(const std::vector<Wish>& wishes, Side side) {
    for (const Wish& wish : wishes) {
      const auto* number = std::get_if<uint32_t>(&wish.value);
      NumaVerdict verdict{.wanted = number == nullptr ? "nic" : std::to_string(*number)};
      if (wish.node) {
        verdict.node = *wish.node;
      } else {
        verdict.why = wish.node.error().message;
      }
      hints_.verdicts[{side, wish.service, wish.method}] = std::move(verdict);
    }
  }

  const Manifest& manifest_;
  const std::vector<WorkerPlacement>& workers_;
  const HostCores& host_;
  NumaHints hints_;
};

}  // namespace

const NumaVerdict* NumaHints::find(Side side, const std::string& service,
                                   const std::string& method) const {
  const auto found = verdicts.find({side, service, method});
  return found == verdicts.end() ? nullptr : &found->second;
}

NumaHints resolve_numa_hints(const NodeConfig& node, const Manifest& manifest,
                             const std::vector<WorkerPlacement>& workers, const HostCores& host) {
  return Resolver(manifest, workers, host).resolve(node);
}

void warn_of_hints(const NodeConfig& node, const NumaHints& numa, Diagnostics& diagnostics) {
  std::map<std::string, SourceLocation> services;  // with the first place that names each service
  for (const EndpointConfig& one : node.endpoints) services.emplace(one.service, one.location);
  for (const ServedConfig& one : node.serves) services.emplace(one.service, one.location);
  std::map<std::tuple<Side, std::string, std::string, std::string>, std::vector<std::string>>
      groups;
  for (const auto& [function, verdict] : numa.verdicts) {
    const auto& [side, service, method] = function;
    if (!verdict.node) groups[{side, service, verdict.wanted, verdict.why}].push_back(method);
  }
  for (const auto& [group, methods] : groups) {
    const auto& [side, service, wanted, why] = group;
    const auto used = services.find(service);
    if (used == services.end()) continue;
    diagnostics.warning(used->second, service + ": the hint numa: " + wanted +
                                          " is not honoured for the " +
                                          (side == Side::kClient ? "client" : "server") +
                                          " side of " + names_text(methods) + ": " + why);
  }
}

}  // namespace hat
