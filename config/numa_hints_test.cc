// SPDX-License-Identifier: Apache-2.0
#include "config/numa_hints.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hat {
namespace {

// A node that offers the services A and B to its clients and serves C and D, with one worker on
// each of the NUMA nodes 0 and 1.
class NumaHintsTest : public testing::Test {
 protected:
  NumaHintsTest() {
    node.endpoints = {{.service = "A", .location = {"n.yaml", 3, 5}},
                      {.service = "B", .location = {"n.yaml", 4, 5}}};
    node.serves = {{.service = "C", .location = {"n.yaml", 6, 3}},
                   {.service = "D", .location = {"n.yaml", 7, 3}}};
  }

  static FunctionSpec function(const char* name, std::optional<Numa> client,
                               std::optional<Numa> server = std::nullopt) {
    FunctionSpec spec{.name = name};
    spec.hints.client.numa = client;
    spec.hints.server.numa = server;
    return spec;
  }
  void service(const char* name, std::vector<FunctionSpec> functions, HintGroups hints = {}) {
    manifest.services.push_back(
        {.name = name, .hints = std::move(hints), .functions = std::move(functions)});
  }
  void resolve() { numa = resolve_numa_hints(node, manifest, workers, host); }
  // Returns the node, or why the hint is not honoured; "-" if there is no verdict.
  std::string verdict(Side side, const char* service, const char* method) const {
    const NumaVerdict* found = numa.find(side, service, method);
    if (found == nullptr) return "-";
    return found->node ? "node " + std::to_string(*found->node) : found->why;
  }
  std::string warnings() const {
    Diagnostics diagnostics;
    warn_of_hints(node, numa, diagnostics);
    EXPECT_FALSE(diagnostics.any_errors());
    return diagnostics.text();
  }

  NodeConfig node;
  Manifest manifest;
  std::vector<WorkerPlacement> workers = {{.cores = {0}, .node = 0}, {.cores = {2}, .node = 1}};
  HostCores host{
      .allowed = {0, 1, 2, 3, 4}, .nodes = {{0, {0, 1}}, {1, {2, 3}}, {2, {4}}}, .nic_node = 1};
  NumaHints numa;
};

TEST_F(NumaHintsTest, WithoutTheHintAllWorkersAccept) {
  service("A", {function("f", std::nullopt), function("g", NumaWord::kAny)});
  resolve();
  EXPECT_THAT(numa.endpoints, testing::ElementsAre(std::nullopt, std::nullopt));
  EXPECT_EQ(numa.links, std::nullopt);
  EXPECT_TRUE(numa.verdicts.empty());
  EXPECT_EQ(warnings(), "");
}

TEST_F(NumaHintsTest, OneNodeForAllFunctionsOfAnEndpointIsHonoured) {
  service("A", {function("f", 1u), function("g", std::nullopt), function("h", NumaWord::kNic)});
  service("B", {function("f", 0u)});
  resolve();
  EXPECT_THAT(numa.endpoints, testing::ElementsAre(1, 0));
  EXPECT_EQ(numa.links, std::nullopt);
  EXPECT_EQ(verdict(Side::kClient, "A", "f"), "node 1");
  EXPECT_EQ(verdict(Side::kClient, "A", "g"), "-");
  EXPECT_EQ(verdict(Side::kClient, "A", "h"), "node 1");
  EXPECT_EQ(numa.find(Side::kClient, "A", "h")->wanted, "nic");
  EXPECT_EQ(verdict(Side::kServer, "A", "f"), "-");
  EXPECT_EQ(warnings(), "");
}

TEST_F(NumaHintsTest, AHintOfTheServiceCountsForFunctionsThatNoManifestLists) {
  HintGroups hints;
  hints.both.numa = 1u;
  service("A", {function("f", std::nullopt)}, hints);
  resolve();
  EXPECT_EQ(numa.endpoints.front(), 1);
  EXPECT_EQ(verdict(Side::kClient, "A", "f"), "node 1");
  EXPECT_EQ(verdict(Side::kClient, "A", "_other"), "node 1");
}

TEST_F(NumaHintsTest, DifferentNodesOfOneEndpointAreNotHonoured) {
  service("A", {function("f", 0u), function("g", 1u), function("h", std::nullopt)});
  resolve();
  EXPECT_EQ(numa.endpoints.front(), std::nullopt);
  const std::string why =
      "the functions of A share its connections, but want different nodes (0: A.f; 1: A.g), and "
      "one worker carries all calls of a connection";
  EXPECT_EQ(verdict(Side::kClient, "A", "f"), why);
  EXPECT_EQ(verdict(Side::kClient, "A", "g"), why);
  EXPECT_EQ(warnings(),
            "n.yaml:3:5: warning: A: the hint numa: 0 is not honoured for the client side of f: " +
                why + "\n" +
                "n.yaml:3:5: warning: A: the hint numa: 1 is not honoured for the client side of "
                "g: " +
                why + "\n");
}

TEST_F(NumaHintsTest, AllServicesThatTheNodeServesShareTheLinks) {
  service("C", {function("f", std::nullopt, 1u)});
  service("D", {function("g", std::nullopt)});
  resolve();
  EXPECT_EQ(numa.links, 1);
  EXPECT_EQ(verdict(Side::kServer, "C", "f"), "node 1");
  manifest.services.back().functions = {function("g", std::nullopt, 0u)};
  resolve();
  EXPECT_EQ(numa.links, std::nullopt);
  EXPECT_EQ(verdict(Side::kServer, "D", "g"),
            "the functions that this node serves share the links of peers, but want different "
            "nodes (0: D.g; 1: C.f), and one worker carries all calls of a connection");
}

TEST_F(NumaHintsTest, ANodeWithoutAWorkerIsNamed) {
  service("A", {function("f", 2u), function("g", 1u)});
  resolve();
  EXPECT_EQ(numa.endpoints.front(), 1) << "the hint that can be honoured is honoured";
  EXPECT_EQ(verdict(Side::kClient, "A", "f"),
            "no worker runs on node 2: add cores of that node to `worker_cores`");
  workers = {{}, {}};
  resolve();
  EXPECT_EQ(verdict(Side::kClient, "A", "g"),
            "no worker runs on node 1: the workers are not bound to NUMA nodes; set "
            "`worker_cores`");
  EXPECT_EQ(numa.endpoints.front(), std::nullopt);
}

TEST_F(NumaHintsTest, ANodeThatTheHostDoesNotHaveIsNamed) {
  service("A", {function("f", 3u), function("g", 4'294'967'295u)});
  resolve();
  EXPECT_EQ(verdict(Side::kClient, "A", "f"), "this host has no NUMA node 3 with cores");
  EXPECT_EQ(verdict(Side::kClient, "A", "g"), "this host has no NUMA node 4294967295 with cores");
}

TEST_F(NumaHintsTest, ADeviceOfAnUnknownNodeIsNamed) {
  host.nic_node = fail(ErrorCode::kNotFound, "this host has no RDMA device");
  service("A", {function("f", NumaWord::kNic), function("g", 0u)});
  resolve();
  EXPECT_EQ(numa.endpoints.front(), 0);
  EXPECT_EQ(warnings(),
            "n.yaml:3:5: warning: A: the hint numa: nic is not honoured for the client side of f: "
            "the NUMA node of the RDMA device is not known: this host has no RDMA device\n");
}

TEST_F(NumaHintsTest, ManyFunctionsAreCountedInOneWarning) {
  std::vector<FunctionSpec> functions;
  for (const char* name : {"a", "b", "c", "d", "e", "f"}) functions.push_back(function(name, 2u));
  service("A", functions);
  service("Elsewhere", functions);
  resolve();
  EXPECT_EQ(warnings(),
            "n.yaml:3:5: warning: A: the hint numa: 2 is not honoured for the client side of a, b, "
            "c, d and 2 more: no worker runs on node 2: add cores of that node to "
            "`worker_cores`\n");
}

}  // namespace
}  // namespace hat
