// SPDX-License-Identifier: Apache-2.0
#include "client/rdma/prepared.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "client/rdma/application_reactor.h"

namespace hatrpc::rdma {
namespace {

using testing::HasSubstr;

constexpr auto kManifest =
    "hatrpc_manifest: 1\n"
    "services:\n"
    "  Echo:\n"
    "    functions:\n"
    "      echo: {arguments: {1: string}}\n";

RdmaOptions insecure() { return {.config = "link: {insecure: true}"}; }

TEST(Prepared, AClientHasOneEndpointAndThePeersOfTheHost) {
  RdmaOptions options = insecure();
  options.manifest = kManifest;
  const auto prepared = prepare_client(options, "127.0.0.1", 7471);
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_EQ(prepared->node.endpoints.size(), 1u);
  EXPECT_EQ(prepared->node.endpoints[0].service, "Echo") << "the only service of the manifest";
  EXPECT_EQ(prepared->node.endpoints[0].listen, kThisProcess);
  ASSERT_EQ(prepared->node.peers.size(), 1u);
  EXPECT_EQ(prepared->node.peers[0].link.port, 7471);
  EXPECT_EQ(name_in_file(prepared->node.peers[0]), "127.0.0.1") << "as its certificate says";
  EXPECT_FALSE(prepared->node.node.empty()) << "named after the host";
  EXPECT_EQ(prepared->tls, nullptr);
}

TEST(Prepared, TheServiceFollowsFromTheOptions) {
  RdmaOptions options = insecure();
  EXPECT_EQ(prepare_client(options, "127.0.0.1", 1)->node.endpoints[0].service, hat::kAnyService);
  options.manifest = std::string(kManifest) + "  Kv: {}\n";
  const auto undecided = prepare_client(options, "127.0.0.1", 1);
  ASSERT_FALSE(undecided);
  EXPECT_THAT(undecided.error().message, HasSubstr("several services; name the one that is called: "
                                                   "Echo Kv"));
  options.service = "Kv";
  EXPECT_EQ(prepare_client(options, "127.0.0.1", 1)->node.endpoints[0].service, "Kv");
}

TEST(Prepared, AServerServesItsServicesAndAllOthers) {
  RdmaOptions options = insecure();
  options.manifest = kManifest;
  options.thrift_transport = "framed";
  const auto prepared = prepare_server(options, "", 0);
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_EQ(prepared->node.serves.size(), 2u);
  EXPECT_EQ(prepared->node.serves[0].service, "Echo");
  EXPECT_EQ(prepared->node.serves[0].thrift_transport, hat::ThriftTransport::kFramed);
  EXPECT_EQ(prepared->node.serves[1].service, hat::kAnyService);
  EXPECT_EQ(prepared->node.link.listen->host, "::");
}

// A service without rules could be used to avoid the rules of another one.
TEST(Prepared, AServerWithRulesServesOnlyServicesOfTheManifest) {
  RdmaOptions options = insecure();
  options.manifest = std::string(kManifest) + "    allow: [host-a]\n";
  options.thrift_transport = "framed";
  options.thrift_protocol = "binary";
  const auto prepared = prepare_server(options, "", 0);
  ASSERT_TRUE(prepared) << prepared.error().message;
  ASSERT_EQ(prepared->node.serves.size(), 1u);
  EXPECT_EQ(prepared->node.serves[0].service, "Echo");
}

struct Wrong {
  const char* name;
  RdmaOptions options;
  const char* message;
};

class WrongOptions : public testing::TestWithParam<Wrong> {};

TEST_P(WrongOptions, AreReported) {
  for (const auto& prepared : {prepare_client(GetParam().options, "127.0.0.1", 7471),
                               prepare_server(GetParam().options, "", 0)}) {
    ASSERT_FALSE(prepared);
    EXPECT_EQ(prepared.error().code, hat::ErrorCode::kInvalid);
    EXPECT_THAT(prepared.error().message, HasSubstr(GetParam().message));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Prepared, WrongOptions,
    testing::Values(
        Wrong{"no_link", {.config = "fabric: tcp"}, "link"},
        Wrong{"no_security", {.config = "link: {}"}, "links need `tls: "},
        Wrong{"unknown_key", {.config = "lnik: {}"}, "RdmaOptions::config:1:1: error: unknown key"},
        Wrong{"a_key_of_daemons",
              {.config = "link: {insecure: true}\nadmin: {listen: \"tcp:127.0.0.1:1\"}"},
              "unknown key 'admin'"},
        Wrong{"manifest",
              {.manifest = "services: 1", .config = "link: {insecure: true}"},
              "RdmaOptions::manifest:1:"}),
    [](const auto& each) { return each.param.name; });

TEST(Prepared, AWrongTransportIsReported) {
  RdmaOptions options = insecure();
  options.thrift_transport = "farmed";
  const auto prepared = prepare_server(options, "", 0);
  ASSERT_FALSE(prepared);
  EXPECT_THAT(prepared.error().message, HasSubstr("'farmed' is none of: framed buffered header"));
}

TEST(Prepared, AFileThatCannotBeReadIsReported) {
  EXPECT_FALSE(prepare_client({.config_file = "/nonexistent/node.yaml"}, "127.0.0.1", 1));
}

}  // namespace
}  // namespace hatrpc::rdma
