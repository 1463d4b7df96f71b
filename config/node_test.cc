// SPDX-License-Identifier: Apache-2.0
#include "config/node.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "config/limit_keys.h"

namespace hat {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct NodeRow {
  const char* name;
  const char* text;
  std::string diagnostics;  // all diagnostics, one per line
};
std::ostream& operator<<(std::ostream& out, const NodeRow& row) { return out << row.name; }

class NodeDiagnostic : public testing::TestWithParam<NodeRow> {};

TEST_P(NodeDiagnostic, IsNamedWithItsPlace) {
  Diagnostics diagnostics;
  read_node_config(GetParam().text, "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), GetParam().diagnostics);
}

const std::string kKeys =
    "; expected one of node, zone, fabric, workers, worker_cores, worker_nice, manifests, "
    "peer_files, profile, learned, link, peers, endpoints, serves, admin, access_log, tracing, "
    "limits\n";

INSTANTIATE_TEST_SUITE_P(
    Rows, NodeDiagnostic,
    testing::Values(
        NodeRow{"unknown_key", "node: a\nworker: 2\n",
                "n.yaml:2:1: error: unknown key 'worker' in node configuration (did you mean "
                "'workers'?)" +
                    kKeys},
        NodeRow{"no_name", "workers: 2\n", "n.yaml:1:1: error: node configuration has no 'node'\n"},
        NodeRow{"number_out_of_range", "node: a\nworkers: 0\nworker_nice: -30\n",
                "n.yaml:2:10: error: workers: '0'; expected a number from 1 to 64\n"
                "n.yaml:3:14: error: worker_nice: '-30'; expected a number from -20 to 19\n"},
        NodeRow{"address_without_port",
                "node: a\nlink: {listen: \"tcp:127.0.0.1\", insecure: true}\n",
                "n.yaml:2:16: error: listen: 'tcp:127.0.0.1' has no port; expected tcp:HOST:PORT, "
                "tcp:[IPV6]:PORT, unix:/ABSOLUTE/PATH or shm:/ABSOLUTE/PATH\n"},
        NodeRow{
            "no_unit", "node: a\nlimits: {spin: 50}\n",
            "n.yaml:2:16: error: spin: '50' has no unit; expected a time from 0s to 10ms, such as "
            "50us, 250ms, 1s or 2min\n"},
        NodeRow{
            "too_large", "node: a\nlimits: {max_message: 1TiB}\n",
            "n.yaml:2:23: error: max_message: '1TiB'; expected a size from 4KiB to 1GiB, such as "
            "512B, 128KiB, 16MiB or 1GiB\n"},
        NodeRow{
            "unknown_peer",
            "node: a\nlink: {insecure: true}\npeers:\n  host-b: {link: \"tcp:h:1\"}\nendpoints:\n"
            "  - {listen: \"tcp:127.0.0.1:9\", service: A, peers: [host-c]}\n",
            "n.yaml:6:5: error: no peer is called 'host-c' (did you mean 'host-b'?); `peers` lists "
            "them\n"},
        NodeRow{
            "misspelt_and_so_missing", "nod: a\n",
            "n.yaml:1:1: error: unknown key 'nod' in node configuration (did you mean 'node'?)" +
                kKeys},
        NodeRow{"by_place",
                "node: a\nlink: {insecure: true}\npeers: {b: {link: \"tcp:h:1\"}}\nendpoints:\n"
                "  - {listen: \"tcp:127.0.0.1:9\", service: A, peers: [c]}\nworkers: 0\n",
                "n.yaml:5:5: error: no peer is called 'c' (did you mean 'b'?); `peers` lists them\n"
                "n.yaml:6:10: error: workers: '0'; expected a number from 1 to 64\n"},
        NodeRow{"listened_on_twice",
                "node: a\nlink: {insecure: true}\npeers: {b: {link: \"tcp:h:1\"}}\nendpoints:\n"
                "  - {listen: \"tcp:127.0.0.1:9\", service: A, peers: [b]}\n"
                "  - {listen: \"tcp:127.0.0.1:9\", service: B, peers: [b]}\n",
                "n.yaml:6:5: error: tcp:127.0.0.1:9 is listed twice; first at n.yaml:5:5\n"},
        NodeRow{"tls_without_its_files", "node: a\nlink:\n  tls: {certificate: a.pem, key: ''}\n",
                "n.yaml:3:8: error: link.tls has no 'ca'\n"
                "n.yaml:3:34: error: key is empty; expected a file\n"},
        NodeRow{
            "both_insecure_and_tls",
            "node: a\nlink:\n  insecure: true\n  tls: {certificate: a, key: b, ca: c}\n",
            "n.yaml:3:3: error: link has both `tls` and `insecure: true`; remove one of them\n"},
        NodeRow{"an_identity_that_nothing_proves",
                "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', identity: b}}\n",
                "n.yaml:3:9: error: peers.b.identity is compared with the peer's certificate, but "
                "`link` has no `tls`; add `link.tls`, or remove `identity`\n"},
        NodeRow{"allow_of_nobody",
                "node: a\nlink:\n  tls: {certificate: a, key: b, ca: c, allow: ['*', 'x/y']}\n",
                "n.yaml:3:48: error: allow: '*' is not an identity; expected a URI "
                "(spiffe://prod.example/host-a), all URIs below a path (spiffe://prod.example/*), "
                "a DNS name (host-a.example) or *.example\n"
                "n.yaml:3:53: error: allow: 'x/y' is not an identity; expected a URI "
                "(spiffe://prod.example/host-a), all URIs below a path (spiffe://prod.example/*), "
                "a DNS name (host-a.example) or *.example\n"}),
    [](const auto& row) { return row.param.name; });

TEST(NodeConfig, SaysThatAnOpenLinkMustBeMeant) {
  Diagnostics diagnostics;
  read_node_config("node: a\nlink: {listen: \"tcp:0.0.0.0:1\"}\n", "n.yaml", diagnostics);
  EXPECT_THAT(diagnostics.text(), testing::HasSubstr("write `insecure: true`"));
}

TEST(NodeConfig, TheLinkOfAPeerNamesADaemonOrSeveral) {
  setenv("KV_HOST", "kv.example", 1);
  struct Row {
    std::string link;
    NameKind kind;
    std::string text;
  };
  const Row rows[] = {
      {"tcp:h:1", NameKind::kAddress, "tcp:h:1"},
      {"unix:/run/b.sock", NameKind::kAddress, "unix:/run/b.sock"},
      {"dns:kv.example:7471", NameKind::kAllOfHost, "dns:kv.example:7471"},
      {"dns:$KV_HOST:7471", NameKind::kAllOfHost, "dns:kv.example:7471"},
      {"srv:_hatrpcd._tcp.kv", NameKind::kService, "srv:_hatrpcd._tcp.kv"},
  };
  for (const Row& row : rows) {
    Diagnostics diagnostics;
    const NodeConfig node =
        read_node_config("node: a\nlink: {insecure: true}\npeers: {b: {link: '" + row.link +
                             "'}}\nserves: {S: {upstream: '" + row.link + "'}}\n",
                         "n.yaml", diagnostics);
    ASSERT_EQ(diagnostics.text(), "");
    EXPECT_EQ(node.peers[0].kind, row.kind) << row.link;
    EXPECT_EQ(link_text(node.peers[0]), row.text);
    EXPECT_EQ(node.serves[0].kind, row.kind) << row.link;
    EXPECT_EQ(upstream_text(node.serves[0]), row.text);
  }
  unsetenv("KV_HOST");
  for (const auto& [link, error] : std::initializer_list<std::pair<std::string, std::string>>{
           {"dns:kv.example", "has no port"},
           {"dns:", "has no port"},
           {"srv:", "expected srv:NAME"},
           {"srv:kv.example:7471", "expected srv:NAME"},
           {"srv:kv example", "expected srv:NAME"},
           {"shm:/r", "expected tcp:HOST:PORT"}}) {
    Diagnostics diagnostics;
    read_node_config("node: a\nlink: {insecure: true}\npeers: {b: {link: '" + link + "'}}\n",
                     "n.yaml", diagnostics);
    EXPECT_THAT(diagnostics.text(), testing::HasSubstr(error)) << link;
  }
}

TEST(NodeConfig, AZoneCanComeFromTheEnvironment) {
  setenv("RACK", "rack-7", 1);
  Diagnostics diagnostics;
  const NodeConfig node = read_node_config(
      "node: a\nzone: $RACK\nlink: {insecure: true}\n"
      "peers: {b: {link: 'tcp:h:1', zone: rack-8, weight: 1000}, c: {link: 'tcp:h:2'}}\n",
      "n.yaml", diagnostics);
  unsetenv("RACK");
  ASSERT_EQ(diagnostics.text(), "");
  EXPECT_EQ(node.zone, "rack-7");
  EXPECT_EQ(node.peers[0].zone, "rack-8");
  EXPECT_EQ(node.peers[0].weight, 1000u);
  EXPECT_EQ(node.peers[1].zone, "");
  EXPECT_EQ(node.peers[1].weight, 1u);
}

TEST(NodeConfig, ARingNextToATcpAddressIsAnEndpointOfItsOwn) {
  Diagnostics diagnostics;
  const NodeConfig node = read_node_config(
      "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1'}}\nendpoints:\n"
      "  - {listen: 'tcp:127.0.0.1:1', ring: /r/a, service: A, peers: [b], mode: '0600'}\n"
      "  - {listen: 'tcp:127.0.0.1:2', service: B, peers: [b]}\n"
      "serves: {A: {upstream: 'tcp:127.0.0.1:3', ring: /r/s}}\n",
      "n.yaml", diagnostics);
  ASSERT_EQ(diagnostics.text(), "");
  ASSERT_EQ(node.endpoints.size(), 3u);
  EXPECT_EQ(to_string(*node.endpoints[0].ring), "shm:/r/a");
  EXPECT_EQ(to_string(node.endpoints[1].listen), "shm:/r/a");
  EXPECT_FALSE(node.endpoints[1].ring);
  EXPECT_EQ(node.endpoints[1].service, "A");
  EXPECT_EQ(node.endpoints[1].mode, 0600u);
  EXPECT_EQ(to_string(node.endpoints[2].listen), "tcp:127.0.0.1:2");
  EXPECT_EQ(to_string(*node.serves[0].ring), "shm:/r/s");
  check_against(node, Manifest{}, diagnostics);
  EXPECT_EQ(diagnostics.all().size(), 3u) << "one warning for each entry\n" << diagnostics.text();
}

TEST(NodeConfig, ARingBelongsToOneServer) {
  Diagnostics diagnostics;
  read_node_config(
      "node: a\nserves:\n  A: {upstream: 'tcp:h:1', ring: /r}\n  B: {upstream: 'tcp:h:1', ring: "
      "/r}\n"
      "  C: {upstream: 'tcp:h:1'}\n  D: {upstream: 'tcp:h:2', ring: /s}\n",
      "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  read_node_config(
      "node: a\nserves:\n  A: {upstream: 'tcp:h:1', ring: /r}\n  B: {upstream: 'shm:/r'}\n"
      "  C: {upstream: 'tcp:h:2', ring: /r}\n",
      "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "n.yaml:4:3: error: serves.B: the ring /r is the one of serves.A, whose `upstream` is "
            "tcp:h:1; write the same `upstream` here, or another ring\n"
            "n.yaml:5:3: error: serves.C: the ring /r is the one of serves.A, whose `upstream` is "
            "tcp:h:1; write the same `upstream` here, or another ring\n");
}

TEST(NodeConfig, ARingBelongsToATcpAddressAndIsListedOnce) {
  Diagnostics diagnostics;
  read_node_config(
      "node: a\nlink: {insecure: true}\npeers: {b: {link: \"tcp:h:1\"}}\nendpoints:\n"
      "  - {listen: \"unix:/s\", ring: /r, service: A, peers: [b]}\n"
      "  - {listen: \"shm:/r\", service: A, peers: [b]}\n"
      "serves:\n  A: {upstream: \"shm:/t\", ring: /u}\n"
      "  B: {upstream: \"tcp:h:1\", ring: u}\n  C: {upstream: \"tcp:h:1\", ring: '/u,v'}\n"
      "  D: {upstream: \"dns:h:1\", ring: /w}\n",
      "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "n.yaml:5:5: error: ring belongs to a TCP address, and `listen` is unix:/s; expected "
            "tcp:HOST:PORT there, or no `ring`\n"
            "n.yaml:6:5: error: shm:/r is listed twice; first at n.yaml:5:5\n"
            "n.yaml:8:6: error: ring belongs to a TCP address, and `upstream` is shm:/t; expected "
            "tcp:HOST:PORT there, or no `ring`\n"
            "n.yaml:9:34: error: ring: 'u'; expected an absolute path of at most 107 bytes without "
            "a comma\n"
            "n.yaml:10:34: error: ring: '/u,v'; expected an absolute path of at most 107 bytes "
            "without a comma\n"
            "n.yaml:11:6: error: ring belongs to one server, and `upstream` is dns:h:1, which can "
            "be several; expected tcp:HOST:PORT there, or no `ring`\n");
}

// A text that is not a configuration must cause an error, not a crash.
TEST(NodeConfig, SurvivesWhatIsNoConfiguration) {
  for (const std::string& text :
       {std::string(), std::string("\xff\xfe\x00", 3), std::string(100'000, '['),
        std::string(100'000, '-'), std::string("a: &a {b: *a}"), std::string("node: [a]"),
        std::string("node: a\nlimits: 3\n")}) {
    Diagnostics diagnostics;
    read_node_config(text, "n.yaml", diagnostics);
    EXPECT_TRUE(diagnostics.any_errors()) << text.substr(0, 40);
  }
}

class ExampleFile : public testing::Test {
 protected:
  const std::string path_ = HAT_SOURCE_DIR "/config/examples/hatrpcd.yaml";
  std::string text() const {
    std::ifstream file(path_);
    return {std::istreambuf_iterator<char>(file), {}};
  }
};

TEST_F(ExampleFile, IsGoodAndHoldsTheDefaults) {
  Diagnostics diagnostics;
  const NodeConfig node = load_node_config(path_, diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  EXPECT_EQ(node.limits, default_limits());
  EXPECT_EQ(node.workers, NodeConfig{}.workers);
  EXPECT_EQ(node.endpoints.size(), 3u);
  ASSERT_EQ(node.serves.size(), 1u);
  EXPECT_EQ(node.serves[0].mode, UpstreamMode::kMirror);
  ASSERT_TRUE(node.link.tls);
  EXPECT_EQ(node.link.tls->key, HAT_SOURCE_DIR "/config/examples/tls/host-a.key");
  EXPECT_EQ(node.link.tls->allow, std::vector<std::string>{"spiffe://prod.example/hosts/*"});
  EXPECT_EQ(node.peers[0].identity, "spiffe://prod.example/hosts/b");
}

class PeerFiles : public testing::Test {
 protected:
  ~PeerFiles() override { std::filesystem::remove_all(folder_); }
  void write(const std::string& name, const std::string& text) const {
    const std::filesystem::path path = folder_ / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // Loads n.yaml with these lines. Returns the peers of its first endpoint, and the diagnostics.
  std::vector<std::string> load(const std::string& lines) {
    write("n.yaml", "node: a\nlink: {insecure: true}\npeer_files: [peers.d]\n" + lines);
    Diagnostics diagnostics;
    node_ = load_node_config(folder_ / "n.yaml", diagnostics);
    std::vector<std::string> all =
        node_.endpoints.empty() ? std::vector<std::string>() : node_.endpoints[0].peers;
    if (!diagnostics.all().empty()) all.push_back(diagnostics.text());
    return all;
  }

  const std::filesystem::path folder_ = [] {
    std::string name = std::filesystem::temp_directory_path() / "hatrpc-peers-XXXXXX";
    return std::filesystem::path(mkdtemp(name.data()));
  }();
  NodeConfig node_;
};

const std::string kEndpoint = "endpoints: [{listen: 'tcp:127.0.0.1:9', service: S}]\n";

TEST_F(PeerFiles, AddPeersToEndpointsOfTheirServices) {
  write("peers.d/2.yaml", "c: {link: 'tcp:h:2', serves: [T, S], profile: c-costs.yaml}\n");
  write("peers.d/1.yml", "d: {link: 'tcp:h:3', serves: [T]}\ne: {link: 'tcp:h:4', serves: [S]}\n");
  write("peers.d/.hidden.yaml", "not a peer");
  write("peers.d/note.txt", "not a peer");
  EXPECT_THAT(load("peers: {b: {link: 'tcp:h:1', serves: [S]}}\n" + kEndpoint),
              ElementsAre("b", "e", "c"));
  EXPECT_EQ(node_.peers.size(), 4u);
  EXPECT_EQ(node_.peers[3].profile, folder_ / "peers.d/c-costs.yaml");
}

TEST_F(PeerFiles, MayBeEmptyForNow) {
  std::filesystem::create_directory(folder_ / "peers.d");
  EXPECT_THAT(load(""), IsEmpty());
  EXPECT_THAT(load("peers: {b: {link: 'tcp:h:1'}}\n" + kEndpoint),
              ElementsAre(HasSubstr("n.yaml:5:13: warning: the endpoint has no `peers`, and no "
                                    "peer, also of `peer_files`, has 'S'")));
}

TEST_F(PeerFiles, AnEndpointCanNameAPeerOfAFile) {
  write("peers.d/c.yaml", "c: {link: 'tcp:h:2'}\n");
  EXPECT_THAT(load("endpoints: [{listen: 'tcp:127.0.0.1:9', service: S, peers: [c]}]\n"),
              ElementsAre("c"));
}

TEST_F(PeerFiles, MistakesAreNamedWithTheirFile) {
  EXPECT_THAT(load(""), ElementsAre(HasSubstr("there is no such file or directory")));
  write("peers.d/c.yaml", "b: {link: 'tcp:h:2'}\nc: {lnk: 'tcp:h:2'}\n");
  EXPECT_THAT(load("peers: {b: {link: 'tcp:h:1'}}\n"),
              ElementsAre(AllOf(HasSubstr("peers.d/c.yaml:1:1: error: peer 'b' appears twice"),
                                HasSubstr("peers.d/c.yaml:2:5: error: unknown key 'lnk'"))));
}

TEST(NodeConfig, AnEndpointWithoutPeersNeedsAPeerThatServesItsService) {
  Diagnostics diagnostics;
  read_node_config(
      "node: a\nlink: {insecure: true}\npeers: {b: {link: 'tcp:h:1', serves: [T]}}\n" + kEndpoint,
      "n.yaml", diagnostics);
  EXPECT_THAT(diagnostics.text(), HasSubstr("no peer has 'S' in its `serves`"));
}

TEST(NodeConfig, TheFileOfLearnedChoicesHasNoOtherUse) {
  struct Row {
    const char* text;
    const char* other;  // what the daemon reads; "": nothing else
  };
  for (const Row& row : {Row{"learned: /x/l.yaml\nprofile: /x/p.yaml\nmanifests: [/x/m]\n", ""},
                         Row{"learned: /x/m/l.yaml\nmanifests: [/x/m/]\n", "/x/m"},
                         Row{"learned: /x/l.yaml\nmanifests: [/x/l.yaml]\n", "/x/l.yaml"},
                         Row{"learned: /x/p.yaml\nprofile: /x/p.yaml\n", "/x/p.yaml"},
                         Row{"learned: /x/p.yaml\nlink: {insecure: true}\n"
                             "peers: {b: {link: tcp:b:1, profile: /x/p.yaml}}\n",
                             "/x/p.yaml"},
                         Row{"learned: n.yaml\n", "/etc/n.yaml"}}) {
    Diagnostics diagnostics;
    read_node_config(std::string(row.text) + "node: a\n", "/etc/n.yaml", diagnostics);
    const std::string other = row.other;
    EXPECT_EQ(diagnostics.any_errors(), !other.empty()) << row.text;
    EXPECT_NE(diagnostics.text().find(other.empty() ? "" : "but also uses '" + other + "'"),
              std::string::npos)
        << diagnostics.text();
  }
}

TEST(NodeConfig, PathsBeginAtTheFoldersOfTheFileThatNamesThem) {
  Diagnostics diagnostics;
  const NodeConfig node = read_node_config(
      "node: host-a\n"
      "profile: costs.yaml\n"
      "learned: state/learned.yaml\n"
      "tracing: {path: spans.jsonl}\n"
      "manifests: [manifests, /etc/more]\n"
      "link:\n"
      "  listen: tcp:127.0.0.1:0\n"
      "  tls: {certificate: tls/a.pem, key: tls/a.key, ca: tls/ca.pem, crl: tls/crl.pem}\n"
      "peers: {b: {link: tcp:b:1, profile: costs-b.yaml}, c: {link: tcp:c:1}}\n",
      "/etc/hatrpc/hatrpcd.yaml", diagnostics);
  ASSERT_FALSE(diagnostics.any_errors()) << diagnostics.text();
  EXPECT_EQ(node.profile, "/etc/hatrpc/costs.yaml");
  EXPECT_EQ(node.learned, "/etc/hatrpc/state/learned.yaml");
  EXPECT_EQ(node.tracing.path, "/etc/hatrpc/spans.jsonl");
  EXPECT_EQ(node.peers[0].profile, "/etc/hatrpc/costs-b.yaml");
  EXPECT_EQ(node.peers[1].profile, "");
  EXPECT_EQ(node.manifests[0].path, "/etc/hatrpc/manifests");
  EXPECT_EQ(node.manifests[1].path, "/etc/more");
  EXPECT_EQ(node.link.tls->certificate, "/etc/hatrpc/tls/a.pem");
  EXPECT_EQ(node.link.tls->key, "/etc/hatrpc/tls/a.key");
  EXPECT_EQ(node.link.tls->ca, "/etc/hatrpc/tls/ca.pem");
  EXPECT_EQ(node.link.tls->crl, "/etc/hatrpc/tls/crl.pem");
}

TEST_F(ExampleFile, HoldsEveryLimit) {
  const std::string file = text();
#define EXPECT_KEY(member, key, ...) EXPECT_NE(file.find("\n  " key ":"), std::string::npos) << key;
  HAT_SIZE_LIMITS(EXPECT_KEY)
  HAT_COUNT_LIMITS(EXPECT_KEY)
  HAT_TIME_LIMITS(EXPECT_KEY)
#undef EXPECT_KEY
}

// Many hosts can share one file: each host gets its name from the environment, and the list of
// peers in the file includes every host.
TEST(NodeConfig, TakesItsNameFromTheEnvironment) {
  const std::string text =
      "node: $HAT_NODE_NAME\nlink: {insecure: true}\n"
      "peers: {worker-1: {link: \"tcp:h:1\"}, worker-2: {link: \"tcp:i:1\"}}\n";
  struct Row {
    const char* value;
    const char* diagnostics;
  };
  for (const Row& row :
       {Row{"worker-1", ""},
        Row{nullptr,
            "n.yaml:1:7: error: node: '$HAT_NODE_NAME': this environment variable is not set\n"},
        Row{"two words",
            "n.yaml:1:7: error: node ($HAT_NODE_NAME): 'two words'; expected 1 to 255 "
            "letters, digits, '.', '-' and '_'\n"},
        Row{"",
            "n.yaml:1:7: error: node ($HAT_NODE_NAME): ''; expected 1 to 255 letters, digits, "
            "'.', '-' and '_'\n"}}) {
    row.value == nullptr ? unsetenv("HAT_NODE_NAME") : setenv("HAT_NODE_NAME", row.value, 1);
    Diagnostics diagnostics;
    const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), row.diagnostics);
    if (!diagnostics.any_errors()) {
      EXPECT_EQ(node.node, row.value);
    }
  }
  unsetenv("HAT_NODE_NAME");
}

TEST(NodeConfig, TakesHostsOfAddressesFromTheEnvironment) {
  const std::string text =
      "node: a\nlink: {listen: \"tcp:$HAT_HOST:7471\", insecure: true}\n"
      "admin: {listen: \"tcp:$HAT_HOST:9464\"}\n";
  struct Row {
    const char* value;
    std::string link;
    std::string diagnostic;
  };
  for (const Row& row :
       {Row{"10.0.0.11", "tcp:10.0.0.11:7471", ""}, Row{"fd00::11", "tcp:[fd00::11]:7471", ""},
        Row{nullptr, "",
            "n.yaml:2:16: error: listen: '$HAT_HOST': this environment variable is not set\n"},
        Row{"", "",
            "n.yaml:2:16: error: listen (tcp:$HAT_HOST:7471): 'tcp::7471' has no host; "}}) {
    row.value == nullptr ? unsetenv("HAT_HOST") : setenv("HAT_HOST", row.value, 1);
    Diagnostics diagnostics;
    const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text().substr(0, row.diagnostic.size()), row.diagnostic);
    if (!row.diagnostic.empty()) continue;
    EXPECT_EQ(diagnostics.text(), "");
    EXPECT_EQ(to_string(*node.link.listen), row.link);
    EXPECT_EQ(node.admin.listen->port, 9464);
  }
  unsetenv("HAT_HOST");
}

TEST(NodeConfig, ReadsTheCoresOfWorkers) {
  using Kind = WorkerCores::Kind;
  struct Row {
    const char* text;
    Kind kind;
    Cores cores;
  };
  for (const Row& row : {Row{"auto", Kind::kAuto, {}},
                         {"nic", Kind::kNic, {}},
                         {"3", Kind::kListed, {3}},
                         {"2-4,8", Kind::kListed, {2, 3, 4, 8}},
                         {"8, 2", Kind::kListed, {2, 8}},
                         {"[8, 2-3, \"0,1\"]", Kind::kListed, {0, 1, 2, 3, 8}}}) {
    Diagnostics diagnostics;
    const std::string text = std::string("node: a\nworker_cores: ") + row.text + "\n";
    const NodeConfig node = read_node_config(text, "n.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), "");
    EXPECT_EQ(node.worker_cores.kind, row.kind) << row.text;
    EXPECT_EQ(node.worker_cores.cores, row.cores) << row.text;
  }
}

TEST(NodeConfig, RefusesCoresOfWorkersThatAreNoList) {
  const std::string expected =
      "; expected auto, nic, or numbers of cores and ranges from 0 to 8191 such as 2-5,8\n";
  for (const auto& [value, diagnostic] :
       {std::pair<std::string, std::string>{"0-9000",
                                            "15: error: worker_cores: '0-9000'" + expected},
        {"[1, nic]", "19: error: worker_cores: 'nic'" + expected},
        {"[]", "15: error: worker_cores: the list is empty; write auto instead\n"}}) {
    Diagnostics diagnostics;
    read_node_config("node: a\nworker_cores: " + value + "\n", "n.yaml", diagnostics);
    EXPECT_EQ(diagnostics.text(), "n.yaml:2:" + diagnostic);
  }
}

TEST(NodeConfig, ReportsWhatRdmaWillHoldOfTheHost) {
  EXPECT_EQ(registered_bytes({}), 144u << 20);
  EXPECT_EQ(registered_bytes({.pinned_bytes_max = 100u << 20}), 72u << 20);
}

TEST(NodeConfig, RefusesToEndIdleLinksAllTheTime) {
  Diagnostics diagnostics;
  read_node_config("node: a\nlimits: {link_idle: 0s}\n", "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(), "");
  read_node_config("node: a\nlimits: {link_idle: 999ms}\n", "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "n.yaml:2:9: error: limits.link_idle (999ms) must be 0s, which keeps links, or at "
            "least 1s\n");
}

TEST(NodeConfig, WarnsOfATimeForConnectingThatLeavesOutTheKernelsRetries) {
  Diagnostics diagnostics;
  read_node_config("node: a\nlimits: {upstream_connect_timeout: 1s}\n", "n.yaml", diagnostics);
  EXPECT_EQ(diagnostics.text(),
            "n.yaml:2:9: warning: limits.upstream_connect_timeout (1s) ends before the kernel "
            "retries a connection request, after 1s: if a server's queue of connections is full "
            "for a moment, calls are answered with upstream_unreachable\n");
}

TEST(NodeConfig, IsReadFromARegularFileAlone) {
  Diagnostics diagnostics;
  load_node_config("/", diagnostics);
  EXPECT_EQ(diagnostics.text(), "/: error: this is not a regular file\n");
}

}  // namespace
}  // namespace hat
