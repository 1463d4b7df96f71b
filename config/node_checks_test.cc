// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>

#include "config/manifest.h"
#include "config/node.h"

namespace hat {
namespace {

TEST(NodeChecks, RefusesToShareConnectionsForAServiceWhoseFunctionsNobodyLists) {
  const std::string text = "node: a\nserves: {S: {upstream: 'tcp:127.0.0.1:1', mode: shared}}\n";
  const auto said = [&](const Manifest& manifest) {
    Diagnostics diagnostics;
    const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
    check_against(node, manifest, diagnostics);
    return diagnostics.any_errors() ? diagnostics.text() : "";
  };
  EXPECT_EQ(said({"", {{"S", {}, {{.name = "f"}}, ""}}}), "");
  for (const Manifest& manifest : {Manifest{}, Manifest{"", {{"S", {}, {}, ""}}},
                                   Manifest{"", {{"Other", {}, {{.name = "f"}}, ""}}}}) {
    EXPECT_NE(said(manifest).find("n.yaml:2:10: error: serves.S: mode: shared needs a manifest"),
              std::string::npos)
        << said(manifest);
  }
}

// Returns the diagnostics for a node that serves `S` and `T` at one address and `U` at another.
// `more` is added to the keys of `S` and `T`.
std::string said_of_rules(const Manifest& manifest, const std::string& more = "") {
  const std::string text =
      "node: a\nlink: {tls: {certificate: /c, key: /k, ca: /a}}\nserves:\n"
      "  S: {upstream: 'tcp:127.0.0.1:1'" +
      more + "}\n  T: {upstream: 'tcp:127.0.0.1:1'" + more +
      "}\n  U: {upstream: 'tcp:127.0.0.1:2'}\n";
  Diagnostics diagnostics;
  const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
  check_against(node, manifest, diagnostics);
  return diagnostics.text();
}

ServiceSpec listed(const std::string& name, std::optional<AccessRule> access = {},
                   std::optional<FieldSpecs> arguments = {}) {
  return {.name = name,
          .functions = {{.name = "f", .arguments = std::move(arguments)}},
          .access = std::move(access)};
}

TEST(NodeChecks, WantsSignaturesWhereAPeerMayCallAPartOfWhatAServerHas) {
  const AccessRule rule{{"host-a"}, false}, trial{{"host-a"}, true};
  const FieldSpecs none;
  const std::string framed = ", thrift_transport: framed, thrift_protocol: binary";
  // If all services at an address have the same rule, or if none has a rule, signatures are not
  // needed: a peer may call all services or none.
  EXPECT_EQ(said_of_rules({"", {listed("S"), listed("T"), listed("U")}}), "");
  EXPECT_EQ(said_of_rules({"", {listed("S", rule), listed("T", rule), listed("U")}}), "");
  EXPECT_EQ(said_of_rules({"", {listed("S", trial), listed("T"), listed("U")}}), "");
  EXPECT_EQ(said_of_rules({"", {listed("S"), listed("T"), listed("U", rule)}}), "");

  EXPECT_EQ(
      said_of_rules({"", {listed("S", rule), listed("T", {}, none), listed("U")}}, framed),
      "n.yaml:4:3: error: serves.S: `allow` restricts some peers to a part of the functions at "
      "tcp:127.0.0.1:1, but S.f has no `arguments` in its manifest; write the manifest again with "
      "this version of hintgen\n");
  EXPECT_EQ(
      said_of_rules({"", {listed("S", rule, none), {.name = "T"}, listed("U")}}, framed),
      "n.yaml:5:3: error: serves.T: `allow` restricts some peers to a part of the functions at "
      "tcp:127.0.0.1:1, so a manifest must list the functions of T with their `arguments` "
      "(hintgen writes it)\n");
  const Manifest good{"", {listed("S", rule, none), listed("T", {}, none), listed("U")}};
  EXPECT_EQ(said_of_rules(good, framed), "");
  EXPECT_EQ(said_of_rules(good, ", thrift_transport: header"), "");
  for (const char* half : {"", ", thrift_transport: framed", ", thrift_protocol: json"}) {
    EXPECT_NE(said_of_rules(good, half)
                  .find("n.yaml:4:3: error: serves.S: `allow` restricts some peers to a part of "
                        "the functions at tcp:127.0.0.1:1, so hatrpcd must know how that server "
                        "reads requests; add `thrift_transport` (framed, buffered or header) and "
                        "`thrift_protocol` (binary, compact or json)\n"),
              std::string::npos)
        << half << ": " << said_of_rules(good, half);
  }
}

TEST(NodeChecks, WarnsOfIdempotentFunctionsWhoseClientsHaveTheirOwnConnections) {
  const auto said = [](const std::string& mode, const HintGroups& service, const HintGroups& f) {
    const std::string text = "node: a\nserves: {S: {upstream: 'tcp:127.0.0.1:1'" + mode + "}}\n";
    const Manifest manifest{
        "", {{.name = "S", .hints = service, .functions = {{.name = "f", .hints = f}, {"g"}}}}};
    Diagnostics diagnostics;
    const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
    check_against(node, manifest, diagnostics);
    return diagnostics.text();
  };
  const auto warning = [](const std::string& functions) {
    return "n.yaml:2:10: warning: serves.S: the hint idempotent of " + functions +
           " has little effect with mode: mirror, because a call is sent again only if its client "
           "connection has not reached the server yet; set mode: shared if the server keeps no "
           "state for a connection\n";
  };
  const HintGroups yes{.both = {.idempotent = true}};
  const HintGroups no{.client = {.idempotent = false}};
  const HintGroups at_server{.server = {.idempotent = true}};
  EXPECT_EQ(said("", {}, yes), warning("f"));
  EXPECT_EQ(said(", mode: mirror", yes, {}), warning("f, g"));
  EXPECT_EQ(said("", yes, no), warning("g"));
  EXPECT_EQ(said("", {}, {}), "");
  EXPECT_EQ(said("", {}, no), "");
  EXPECT_EQ(said("", {}, at_server), "");
  EXPECT_EQ(said(", mode: shared", {}, yes), "");
}

}  // namespace
}  // namespace hat
