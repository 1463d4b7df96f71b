// SPDX-License-Identifier: Apache-2.0
// config/numa_hints.h: decides which workers accept which connections, from the hint `numa` of the
// functions and from the placement of the workers. Says for each function whether its hint is
// honoured, and if not, why.
//
// A connection stays with the worker that accepts it, and carries the calls of every function of
// its endpoint. A hint is therefore honoured for whole listening sockets: if all functions of an
// endpoint that have the hint want the same node, only workers on this node accept the endpoint's
// connections. In the same way, links of peers carry calls of every service that this node serves.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "config/diagnostics.h"
#include "config/manifest.h"
#include "config/node.h"
#include "config/worker_placement.h"

namespace hat {

// Whether the hint `numa` of one side of one function is honoured on this node.
struct NumaVerdict {
  std::string wanted;       // the hint's value: "1" or "nic"
  std::optional<int> node;  // the node whose workers carry the calls; nullopt: not honoured
  std::string why;          // why the hint is not honoured; empty if it is

  friend bool operator==(const NumaVerdict&, const NumaVerdict&) = default;
};

struct NumaHints {
  // The node whose workers accept the connections of each endpoint, in the order of
  // NodeConfig::endpoints; nullopt: all workers accept.
  std::vector<std::optional<int>> endpoints;
  // The node whose workers accept links of peers; nullopt: all workers accept.
  std::optional<int> links;
  // By side, service and function. Functions without the hint, and functions whose service this
  // node does not offer (client side) or serve (server side), are absent.
  std::map<std::tuple<Side, std::string, std::string>, NumaVerdict> verdicts;

  // Returns the verdict on one side of a function; null if there is none.
  const NumaVerdict* find(Side side, const std::string& service, const std::string& method) const;
};

// Returns which workers accept which connections on `host`.
NumaHints resolve_numa_hints(const NodeConfig& node, const Manifest& manifest,
                             const std::vector<WorkerPlacement>& workers, const HostCores& host);

// Adds a warning for each group of functions whose hint `numa` is not honoured for the same reason.
// Considers only services that this node offers or serves.
void warn_of_hints(const NodeConfig& node, const NumaHints& numa, Diagnostics& diagnostics);

}  // namespace hat
