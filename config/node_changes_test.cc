// SPDX-License-Identifier: Apache-2.0
#include "config/node_changes.h"

#include <gmock/gmock.h>

namespace hat {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

const std::string kNode = R"(
node: host-a
workers: 2
link: {listen: "tcp:127.0.0.1:7471", insecure: true}
peers:
  host-b: {link: "tcp:127.0.0.1:7472"}
endpoints:
  - {listen: "tcp:127.0.0.1:9090", service: Kv, peers: [host-b]}
  - {listen: "unix:/run/kv.sock", service: Kv, peers: [host-b]}
serves:
  Kv: {upstream: "tcp:127.0.0.1:9091"}
admin: {socket: /run/admin.sock}
)";

NodeConfig node_of(const std::string& text) {
  Diagnostics diagnostics;
  NodeConfig node = read_node_config(text, "/etc/hatrpcd.yaml", diagnostics);
  EXPECT_FALSE(diagnostics.any_errors()) << diagnostics.text();
  return node;
}

// Returns the changes after `old` in kNode was replaced by `text`.
NodeChanges changes(const std::string& old, const std::string& text) {
  std::string after = kNode;
  const size_t at = after.find(old);
  EXPECT_NE(at, std::string::npos) << old;
  return node_changes(node_of(kNode), node_of(after.replace(at, old.size(), text)));
}

TEST(NodeChanges, NamesWhatAReloadApplies) {
  const struct {
    const char* old;
    const char* text;
    std::vector<std::string> lines;
  } kCases[] = {
      {"node:", "# a comment\nnode:", {}},
      {"serves:",
       "limits: {call_timeout: 5s, max_message: 1MiB, max_pipelined: 7}\nserves:",
       {"limits.max_message: 256MiB → 1MiB", "limits.max_pipelined: 1024 → 7",
        "limits.call_timeout: 0s → 5s"}},
      {"peers:\n",
       "peers:\n  host-c: {link: \"tcp:127.0.0.1:7473\"}\n",
       {"peers.host-c: added, tcp:127.0.0.1:7473"}},
      {"127.0.0.1:7472\"",
       "127.0.0.1:7999\", profile: p.yaml",
       {"peers.host-b.link: tcp:127.0.0.1:7472 → tcp:127.0.0.1:7999",
        "peers.host-b.profile: none → /etc/p.yaml"}},
      {"127.0.0.1:7472\"",
       "127.0.0.1:7472\", weight: 3, zone: east",
       {"peers.host-b.weight: 1 → 3", "peers.host-b.zone: none → east"}},
      {"serves:", "zone: west\nserves:", {"zone: none → west"}},
      {"admin.sock",
       "admin.sock, duration_buckets: [64us, 1024us], max_functions: 7",
       {"admin.duration_buckets: all → [64us, 1024us]", "admin.max_functions: 2000 → 7"}},
      {"serves:",
       "access_log: {path: a.jsonl, sample_one_in: 7, slower_than: 2s, failed: false}\nserves:",
       {"access_log.path: none → /etc/a.jsonl", "access_log.sample_one_in: 100 → 7",
        "access_log.slower_than: none → 2s", "access_log.failed: true → false"}},
      {"127.0.0.1:9090\"",
       "127.0.0.1:9099\"",
       {"endpoint tcp:127.0.0.1:9090: removed",
        "endpoint tcp:127.0.0.1:9099: added, offers Kv of peers [host-b]"}},
      {"9090\", service: Kv",
       "9090\", service: New",
       {"endpoint tcp:127.0.0.1:9090: service: Kv → New"}},
      {"  Kv: {upstream: \"tcp:127.0.0.1:9091\"",
       "  Kv: {mode: shared, upstream: \"tcp:127.0.0.1:9092\"",
       {"serves.Kv.upstream: tcp:127.0.0.1:9091 → tcp:127.0.0.1:9092",
        "serves.Kv.mode: mirror → shared"}},
      {"9091\"",
       "9091\", max_connections: 7, thrift_transport: framed, thrift_protocol: compact",
       {"serves.Kv.max_connections: default → 7", "serves.Kv.thrift_transport: none → framed",
        "serves.Kv.thrift_protocol: none → compact"}},
      {"  Kv: {", "  Other: {", {"serves.Kv: removed", "serves.Other: added, tcp:127.0.0.1:9091"}},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.text);
    const NodeChanges found = changes(one.old, one.text);
    EXPECT_EQ(found.applicable, one.lines);
    EXPECT_THAT(found.need_takeover, IsEmpty());
  }
}

TEST(NodeChanges, NamesWhatNeedsATakeover) {
  const struct {
    const char* old;
    const char* text;
    const char* line;
  } kCases[] = {
      {"host-a", "host-z", "node: host-a → host-z"},
      {"workers: 2", "workers: 4", "workers: 2 → 4"},
      {"workers: 2", "workers: 2\nworker_nice: 3", "worker_nice: none → 3"},
      {"workers: 2", "workers: 2\nworker_cores: nic", "worker_cores: auto → nic"},
      {"workers: 2", "workers: 2\nworker_cores: \"2-5,8\"", "worker_cores: auto → 2-5,8"},
      {"workers: 2", "workers: 2\nfabric: tcp", "fabric.kind: auto → tcp"},
      {"workers: 2", "workers: 2\nfabric: {port: 2}", "fabric.port: default → 2"},
      {"workers: 2", "workers: 2\nfabric: {gid_index: 0}", "fabric.gid_index: default → 0"},
      {"workers: 2", "workers: 2\nfabric: {max_pinned: 8MiB}", "fabric.max_pinned: 144MiB → 8MiB"},
      {"workers: 2", "workers: 2\nfabric: {faults: {seed: 3}}", "fabric.faults: changed"},
      {"workers: 2", "workers: 2\nlearned: l.yaml", "learned: none → /etc/l.yaml"},
      {"workers: 2", "workers: 2\ntracing: {path: s.jsonl}", "tracing.path: none → /etc/s.jsonl"},
      {"127.0.0.1:7471", "127.0.0.1:7400", "link.listen: tcp:127.0.0.1:7471 → tcp:127.0.0.1:7400"},
      {"kv.sock\"", "kv.sock\", mode: 0600", "endpoint unix:/run/kv.sock: mode: 0660 → 0600"},
      {"kv.sock\"", "kv.sock\", group: games", "endpoint unix:/run/kv.sock: group: none → games"},
      {"admin.sock", "other.sock", "admin.socket: /run/admin.sock → /run/other.sock"},
  };
  for (const auto& one : kCases) {
    SCOPED_TRACE(one.text);
    const NodeChanges found = changes(one.old, one.text);
    EXPECT_THAT(found.need_takeover, ElementsAre(one.line));
    EXPECT_THAT(found.applicable, IsEmpty());
  }
}

}  // namespace
}  // namespace hat
