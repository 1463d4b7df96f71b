// SPDX-License-Identifier: Apache-2.0
#include "daemon/discovery/expand.h"

#include <gmock/gmock.h>

#include "daemon/discovery/fake_resolver.h"

namespace hat {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

NodeConfig node_of(const std::string& rest) {
  Diagnostics diagnostics;
  NodeConfig node =
      read_node_config("node: a\nlink: {insecure: true}\n" + rest, "a.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  return node;
}

// Returns the configuration for the workers, with these answers to the lookups of `node`, in their
// order. A lookup with an empty answer fails.
NodeConfig expanded(const NodeConfig& node, const std::vector<std::vector<std::string>>& answers) {
  auto made = std::make_unique<FakeResolver>();
  FakeResolver& resolver = *made;
  Discovery discovery(std::move(made));
  discovery.watch(lookups_of(node));
  discovery.refresh(TimePoint(seconds(1)));
  EXPECT_EQ(resolver.asked.size(), answers.size());
  for (const auto& answer : answers) {
    answer.empty() ? resolver.fail_one() : resolver.answer(answer, seconds(9));
  }
  return expand(node, discovery);
}

// Returns "NAME LINK" of each peer, and its group in parentheses.
std::vector<std::string> texts(const std::vector<PeerConfig>& peers) {
  std::vector<std::string> all;
  for (const PeerConfig& peer : peers) {
    all.push_back(peer.name + " " + link_text(peer) +
                  (peer.group.empty() ? "" : " (" + peer.group + ")") +
                  (peer.why_unknown.empty() ? "" : ": " + peer.why_unknown));
  }
  return all;
}

const std::string kEndpoint =
    "endpoints:\n  - {listen: 'tcp:127.0.0.1:1', service: S, peers: [kv, b]}\n";

TEST(ExpandTest, AGroupBecomesOnePeerForEachAddress) {
  const NodeConfig node = node_of(
      "peers: {kv: {link: 'dns:kv.example:7471'}, b: {link: 'tcp:10.0.0.9:1'}}\n" + kEndpoint);
  const NodeConfig workers = expanded(node, {{"tcp:10.0.0.1:7471", "tcp:[fd00::2]:7471"}});
  EXPECT_THAT(texts(workers.peers),
              ElementsAre("kv@10.0.0.1:7471 tcp:10.0.0.1:7471 (kv)",
                          "kv@[fd00::2]:7471 tcp:[fd00::2]:7471 (kv)", "b tcp:10.0.0.9:1"));
  EXPECT_THAT(workers.endpoints[0].peers,
              ElementsAre("kv@10.0.0.1:7471", "kv@[fd00::2]:7471", "b"));
  EXPECT_EQ(name_in_file(workers.peers[0]), "kv");
  EXPECT_EQ(name_in_file(workers.peers[2]), "b");
}

TEST(ExpandTest, AGroupWithoutAKnownAddressIsOnePeerThatSaysWhy) {
  const NodeConfig node = node_of(
      "peers: {kv: {link: 'srv:_kv._tcp.example'}, b: {link: 'tcp:b.example:2'}}\n" + kEndpoint);
  const NodeConfig workers = expanded(node, {{}, {}});
  EXPECT_THAT(texts(workers.peers), ElementsAre("kv srv:_kv._tcp.example: no server answers",
                                                "b tcp:b.example:2: no server answers"));
  EXPECT_THAT(workers.endpoints[0].peers, ElementsAre("kv", "b"));
}

TEST(ExpandTest, APeerAtAHostKeepsItsNameAndGetsTheFirstAddress) {
  const NodeConfig node = node_of("peers: {b: {link: 'tcp:b.example:2'}}\n");
  EXPECT_THAT(texts(expanded(node, {{"tcp:10.0.0.1:2", "tcp:10.0.0.2:2"}}).peers),
              ElementsAre("b tcp:10.0.0.1:2"));
}

TEST(ExpandTest, AnUpstreamKeepsItsTextAndGetsAllAddresses) {
  const NodeConfig node =
      node_of("serves: {S: {upstream: 'tcp:kv:9'}, T: {upstream: 'tcp:10.0.0.1:9'}}\n");
  const NodeConfig known = expanded(node, {{"tcp:10.0.0.1:9", "tcp:10.0.0.2:9"}});
  EXPECT_EQ(to_string(known.serves[0].upstream), "tcp:kv:9");
  EXPECT_THAT(known.serves[0].addresses,
              ElementsAre(*parse_address("tcp:10.0.0.1:9"), *parse_address("tcp:10.0.0.2:9")));
  EXPECT_EQ(known.serves[0].why_unknown, "");
  EXPECT_THAT(known.serves[1].addresses, IsEmpty());
  EXPECT_EQ(expanded(node, {{}}).serves[0].why_unknown, "no server answers");
}

TEST(ExpandTest, AnUpstreamCanBeSeveralServers) {
  const NodeConfig node =
      node_of("serves: {S: {upstream: 'srv:_kv._tcp.example'}, T: {upstream: 'dns:10.0.0.1:9'}}\n");
  const NodeConfig known = expanded(node, {{"tcp:10.0.0.1:7", "tcp:10.0.0.2:8"}});
  EXPECT_EQ(upstream_text(known.serves[0]), "srv:_kv._tcp.example");
  EXPECT_THAT(known.serves[0].addresses,
              ElementsAre(*parse_address("tcp:10.0.0.1:7"), *parse_address("tcp:10.0.0.2:8")));
  EXPECT_THAT(known.serves[1].addresses, ElementsAre(*parse_address("tcp:10.0.0.1:9")));
}

TEST(ExpandTest, LooksUpEachNameOnce) {
  const NodeConfig node = node_of(
      "peers:\n  a: {link: 'dns:kv:1'}\n  b: {link: 'tcp:kv:1'}\n  c: {link: 'tcp:kv:2'}\n"
      "  d: {link: 'unix:/run/d.sock'}\n  e: {link: 'dns:10.0.0.1:1'}\n  f: {link: 'srv:kv'}\n"
      "  g: {link: 'tcp:[fe80::1%lo]:1'}\n  h: {link: 'tcp:127.1:1'}\n");
  std::vector<std::string> names;
  for (const Lookup& lookup : lookups_of(node)) names.push_back(text_of(lookup));
  EXPECT_THAT(names, ElementsAre("dns:kv:1", "dns:kv:2", "srv:kv"));
}

}  // namespace
}  // namespace hat
