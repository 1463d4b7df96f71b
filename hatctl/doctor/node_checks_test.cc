// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/node_checks_test.cc: tests hosts with limits that are too low, and nodes with
// defects in their files, their daemon or their peers.
#include "hatctl/doctor/fake_examined.h"
#include "hatctl/help.h"

namespace hat::doctor {
namespace {

const std::vector<Row> kRowsOfLimits = {
    {"little_memory_to_lock",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.process("77", "hatrpcd", 998, "8388608");
     },
     {{kFail, "memlock",
       "hatrpcd, pid 77: may lock 8 MiB, but RDMA pins 288 MiB (144 MiB for one link of each of 2 "
       "workers)",
       "/etc/systemd/system/hatrpcd.service.d"}}},
    {"little_memory_to_lock_in_a_container",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.process("77", "hatrpcd", 998, "8388608");
       tree.file("/proc/77/cgroup", "0::/");
       tree.file("/.dockerenv", "");
     },
     {{kFail, "memlock", "may lock 8 MiB", "docker run --ulimit memlock=-1"}}},
    {"little_memory_to_lock_for_many_peers",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.process("77", "hatrpcd", 998, "536870912");
       tree.process("self", "hatctl", 1000, "536870912");
       examined.file.node.peers.resize(33);
     },
     {{kWarn, "memlock",
       "hatctl: may lock 512 MiB, but RDMA pins about 528 MiB if each of 2 workers opens a link "
       "with lanes to each of 33 peers: links beyond the limit use TCP",
       "ulimit -l unlimited"},
      {kWarn, "memlock", "hatrpcd, pid 77: may lock 512 MiB",
       "/etc/systemd/system/hatrpcd.service.d"},
      {kWarn, "security", "links are insecure", "hatctl certs make"}}},
    {"memory_to_lock_for_all_peers",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.process("77", "hatrpcd", 998, "536870912");
       examined.file.node.peers.resize(32);
     },
     {{kOk, "memlock", "hatrpcd, pid 77: may lock 512 MiB; RDMA pins 288 MiB", ""},
      {kWarn, "security", "links are insecure", "hatctl certs make"}}},
    {"a_capability_to_lock_memory",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.process("77", "hatrpcd", 998, "8388608", "0000000000004000");
     },
     {{kOk, "memlock", "hatrpcd, pid 77: CAP_IPC_LOCK", ""},
      {kOk, "capabilities", "hatrpcd, as hatrpcd: has 1", ""}}},
    {"little_memory_to_lock_in_this_shell",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.process("self", "hatctl", 1000, "65536");
     },
     {{kWarn, "memlock", "hatctl: may lock 64 KiB", "ulimit -l unlimited"}}},
    {"little_free_memory",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.file("/proc/meminfo", "MemAvailable:   131072 kB");
       examined.daemon.unreachable = "nobody listens";
       examined.file.node.workers = 2;
     },
     {{kWarn, "daemon", "nobody listens", "systemctl start"},
      {kFail, "memory", "128 MiB of memory is free, but RDMA needs 288 MiB",
       "editor /etc/hatrpc/hatrpcd.yaml"}}},
    {"little_memory_of_a_cgroup",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/fs/cgroup/system.slice/hatrpcd.service/memory.max", "268435456");
     },
     {{kFail, "cgroup", "memory.max: 256 MiB at /sys/fs/cgroup/system.slice/hatrpcd.service",
       "MemoryMax=864M"}}},
    {"memory_of_a_cgroup_that_slow_readers_may_pass",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/fs/cgroup/system.slice/memory.max", "536870912");
     },
     {{kWarn, "cgroup", "memory.max: 512 MiB at /sys/fs/cgroup/system.slice;", "MemoryMax=864M"}}},
    {"little_time_of_a_cgroup",
     [](FakeTree& tree, Examined&) {
       tree.plain_host();
       tree.file("/sys/fs/cgroup/system.slice/hatrpcd.service/cpu.max", "100000 100000");
     },
     {{kWarn, "fabric", "no RDMA device", "rdma_rxe"},
      {kWarn, "cgroup", "cpu.max: 1 s of processor time per second, for 2 workers", "CPUQuota="}}},
    {"few_rdma_objects",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/fs/cgroup/system.slice/rdma.max", "mlx5_0 hca_handle=2 hca_object=2000");
     },
     {{kFail, "cgroup", "mlx5_0 hca_handle=2 (3 are needed)", "hca_handle=max"}}},
    {"a_nice_that_is_refused",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.worker_nice = -5;
     },
     {{kWarn, "capabilities", "worker_nice: -5 needs CAP_SYS_NICE",
       "AmbientCapabilities=CAP_SYS_NICE"}}},
    {"few_descriptors",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.file("/proc/77/limits",
                 "Max open files   1024   4096   files\n"
                 "Max locked memory   unlimited   unlimited   bytes");
       examined.file.node.endpoints.resize(1);
     },
     {{kWarn, "descriptors", "4096 at most; 33024", "LimitNOFILE=1048576"}}},
    {"a_daemon_that_cannot_be_seen",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.daemon.pid = 1;
     },
     {{kWarn, "daemon", "limits: process 1 cannot be seen from here", "hatctl doctor"}}},
};

void far_device(FakeTree& tree) {
  tree.roce_host();
  tree.file("/sys/class/infiniband/mlx5_0/device/numa_node", "1");
  tree.file("/sys/devices/system/node/node1/cpulist", "8-15");
}

// Lets hatrpcd run on the cores of both NUMA nodes.
void all_cores_allowed(FakeTree& tree) {
  tree.file("/proc/77/status",
            "Name:\thatrpcd\nPid:\t77\nUid:\t998\t998\t998\t998\nGid:\t998\t998\t998\t998\n"
            "Groups:\t\nCapEff:\t0000000000000000\nCpus_allowed_list:\t0-15");
}

const std::vector<Row> kRowsOfProcessors = {
    {"a_device_of_another_numa_node",
     [](FakeTree& tree, Examined&) { far_device(tree); },
     {{kWarn, "numa", "mlx5_0: on NUMA node 1, but hatrpcd runs on processors 0-7",
       "taskset -apc 8-15 77"}}},
    {"a_device_of_the_same_numa_node",
     [](FakeTree& tree, Examined&) {
       far_device(tree);
       tree.file("/sys/class/infiniband/mlx5_0/device/numa_node", "0");
     },
     {{kOk, "numa", "mlx5_0: on NUMA node 0; hatrpcd may run on processors 0-7", ""}}},
    {"workers_near_the_device",
     [](FakeTree& tree, Examined& examined) {
       far_device(tree);
       all_cores_allowed(tree);
       examined.file.node.worker_cores.kind = WorkerCores::Kind::kNic;
     },
     {{kOk, "numa",
       "mlx5_0: on NUMA node 1; the workers are bound to processors 8-15, which are "
       "all on this node",
       ""}}},
    {"workers_that_could_be_bound_near_the_device",
     [](FakeTree& tree, Examined&) {
       far_device(tree);
       all_cores_allowed(tree);
     },
     {{kOk, "numa",
       "hatrpcd may run on processors 0-15, which include processors of this node; "
       "`worker_cores: nic` binds",
       ""}}},
    {"workers_far_from_the_device",
     [](FakeTree& tree, Examined& examined) {
       far_device(tree);
       all_cores_allowed(tree);
       examined.file.node.worker_cores = {WorkerCores::Kind::kListed, {2, 3}, {}};
     },
     {{kWarn, "numa", "mlx5_0: on NUMA node 1, but the workers are bound to processors 2-3",
       "worker_cores: nic"}}},
    {"cores_that_the_daemon_may_not_use",
     [](FakeTree& tree, Examined& examined) {
       far_device(tree);
       examined.file.node.worker_cores = {WorkerCores::Kind::kListed, {7, 8}, {}};
     },
     {{kWarn, "numa", "worker_cores: hatrpcd may not run on core 8, only on 0-7", "worker_cores"}}},
    {"a_busy_host",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/proc/pressure/cpu", "some avg10=91.04 avg60=79.08 avg300=44.16 total=62");
       tree.file("/proc/pressure/memory", "some avg10=9 avg60=6.00 avg300=4 total=62");
     },
     {{kWarn, "cores", "processor time: tasks waited for it during 79.1 %", "top"},
      {kWarn, "cores", "memory: tasks waited for it during 6 %", "meminfo"}}},
    {"more_workers_than_cores_to_spare",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.daemon.workers = 8;
     },
     {{kWarn, "cores", "8 workers on 8 cores", "workers: auto"}}},
    {"a_slow_clock",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "hpet");
     },
     {{kWarn, "clock", "hpet", "echo tsc"}}},
};

PeerProbe peer_b() {
  return {.name = "b",
          .address = {Address::Kind::kTcp, "10.0.0.2", 7471, ""},
          .link = "tcp:10.0.0.2:7471",
          .ip = "10.0.0.2"};
}

const std::vector<Row> kRowsOfTheNode = {
    {"no_configuration",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.present = false;
     },
     {{kWarn, "configuration", "there is no /etc/hatrpc/hatrpcd.yaml", "--config FILE"}}},
    {"mistakes_in_the_configuration",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.diagnostics.error({"/n.yaml", 3, 1}, "unknown key 'fabrik'");
       examined.file.diagnostics.warning({"/n.yaml", 5, 1}, "no manifest lists service 'Kv'");
     },
     {{kFail, "configuration", "/n.yaml:3:1: unknown key 'fabrik'", "hatrpcd --check --config"},
      {kWarn, "configuration", "/n.yaml:5:1: no manifest lists service", "hatrpcd --check"}}},
    {"a_daemon_that_is_not_ready_and_has_a_bad_manifest",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.daemon.pending = {"link to b", "draining"};
       examined.daemon.reload_error = "kv.yaml:1:1: error: x\nkv.yaml:2:1: error: y";
     },
     {{kWarn, "daemon", "not ready, pending: link to b, draining", "hatctl status"},
      {kWarn, "daemon",
       "reload: the last reload was refused, and the configuration before it stays in use: "
       "kv.yaml:1:1",
       "hatctl reload --dry-run"}}},
    {"a_daemon_of_another_version",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.daemon.version = "1.2.2";
     },
     {{kWarn, "daemon", "hatrpcd 1.2.2; this is hatctl 1.2.3", "systemctl restart hatrpcd"}}},
    {"a_peer_with_links_and_lanes",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.daemon.links["b"] = {2, 8, "", {{"rfp", "up", ""}, {"rfp", "up", ""}}, 6};
     },
     {{kOk, "peers", "b: tcp:10.0.0.2:7471: 2 of 2 links up", ""},
      {kOk, "peers", "b: RDMA lanes up: rfp", ""}}},
    {"a_peer_whose_lane_is_down",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.daemon.links["b"] = {1, 2, "refused", {{"eager", "down", "a request failed"}}};
     },
     {{kWarn, "peers", "1 of 2 links up; last error: refused", "hatctl status"},
      {kWarn, "peers", "RDMA lane eager is down, its calls use TCP: a request failed",
       "trouble.md"}}},
    {"a_peer_that_answers_though_the_link_is_down",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.daemon.links["b"] = {0, 2, "this address is node 'c', not 'b'", {}};
     },
     {{kFail, "peers", "hatrpcd's link to it is down: this address is node 'c', not 'b'",
       "journalctl -u hatrpcd"}}},
    {"a_peer_that_nobody_asked_before",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.daemon.unreachable = "nobody listens";
       examined.peers[0].own_ip = "10.9.9.9";
     },
     {{kWarn, "daemon", "nobody listens", "systemctl start hatrpcd"},
      {kOk, "peers", "b: tcp:10.0.0.2:7471 answers, from 10.9.9.9", ""}}},
    {"a_peer_whose_port_is_closed",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.peers[0].connect_error = "Connection refused";
     },
     {{kFail, "peers", "b: tcp:10.0.0.2:7471 cannot be reached: Connection refused",
       "ss -ltn 'sport = :7471'"}}},
    {"a_peer_without_an_address",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.peers[0].address.host = "host-b";
       examined.peers[0].link = "dns:host-b:7471";
       examined.peers[0].resolve_error = "the lookup has failed";
     },
     {{kFail, "peers", "b: dns:host-b:7471: no address is known: the lookup has failed",
       "dig +search host-b"}}},
    {"a_service_without_an_address",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.peers = {peer_b()};
       examined.peers[0].address.host = "_kv._tcp.example";
       examined.peers[0].link = "srv:_kv._tcp.example";
       examined.peers[0].resolve_error = "the lookup has failed";
     },
     {{kFail, "peers", "b: srv:_kv._tcp.example: no address is known: the lookup has failed",
       "dig +search SRV _kv._tcp.example"}}},
    {"a_way_that_does_not_pass_rdma_packets",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.reports = {usable_device("mlx5_0", 1, 3, 4096)};
       examined.peers = {peer_b()};
       examined.peers[0].own_ip = "10.0.0.1";
       examined.peers[0].path_mtu = 1500;
     },
     {{kWarn, "peers",
       "the path to this peer passes packets of 1500 bytes, but mlx5_0's packets carry 4096",
       "ip link set dev ens1 mtu 1500"}}},
    {"a_way_that_is_not_the_devices",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.reports = {usable_device("mlx5_0", 1, 3, 4096)};
       examined.peers = {peer_b()};
       examined.peers[0].own_ip = "192.168.1.1";
       examined.peers[0].path_mtu = 1500;
     },
     {{kOk, "peers", "answers, from 192.168.1.1", ""}}},
};

// 2026-11-22T12:00:00Z, when the profile of the next hosts was measured.
constexpr int64_t kMeasured = 1795348800;

// Builds node a, which uses a profile that was measured on this host `days` days ago.
void measured_host(FakeTree& tree, Examined& examined, int64_t days = 90) {
  tree.roce_host();
  examined.unix_now = kMeasured + days * 24 * 60 * 60;
  examined.daemon.fabric = "verbs: mlx5_0";
  examined.daemon.fabric_kind = "verbs";
  examined.file.node.node = "a";
  examined.file.profiles = {
      {"/etc/hatrpc/measured.yaml", "", {"a", "b", "verbs: mlx5_0", "2026-11-22T12:00:00Z", {}}}};
  examined.file.profiles[0].profile.costs.fabric = "verbs";
}

const std::vector<Row> kRowsOfProfiles = {
    {"a_profile_of_this_host",
     [](FakeTree& tree, Examined& examined) { measured_host(tree, examined); },
     {{kOk, "profile",
       "/etc/hatrpc/measured.yaml: costs of verbs to the peer b, 2026-11-22T12:00:00Z", ""}}},
    {"an_old_profile",
     [](FakeTree& tree, Examined& examined) { measured_host(tree, examined, 91); },
     {{kWarn, "profile", "it was measured 91 days ago",
       "hatctl calibrate b --write /etc/hatrpc/measured.yaml"}}},
    {"a_profile_without_a_time",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       examined.file.profiles[0].profile.measured = "2026-11-22";
     },
     {{kWarn, "profile", "it does not say when it was measured", "hatctl calibrate b"}}},
    {"a_profile_of_another_node",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       examined.file.profiles[0].profile.node = "c";
     },
     {{kWarn, "profile", "it was measured by the node c", "hatctl calibrate b"}}},
    {"profiles_of_two_peers",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       NamedProfile of_peer = examined.file.profiles[0];
       of_peer.peer = "b";
       of_peer.file = "/etc/hatrpc/b.yaml";
       of_peer.profile.measured = "";
       examined.file.profiles.push_back(of_peer);
     },
     {{kOk, "profile", "/etc/hatrpc/measured.yaml: costs of verbs to the peer b", ""},
      {kWarn, "profile", "it does not say when it was measured",
       "hatctl calibrate b --write /etc/hatrpc/b.yaml"}}},
    {"a_profile_of_another_fabric",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       examined.file.profiles[0].profile.costs.fabric = "loop";
       examined.file.profiles[0].profile.peer = "";
     },
     {{kWarn, "profile",
       "its costs are those of the fabric loop, but hatrpcd uses verbs, and so ignores them",
       "hatctl calibrate PEER"}}},
    {"a_profile_of_another_device",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       examined.file.profiles[0].profile.device = "verbs: mlx5_1";
     },
     {{kWarn, "profile",
       "it was measured on another device, \"verbs: mlx5_1\"; hatrpcd uses \"verbs: mlx5_0\"",
       "hatctl calibrate b"}}},
    {"a_profile_of_a_node_whose_daemon_does_not_run",
     [](FakeTree& tree, Examined& examined) {
       measured_host(tree, examined);
       examined.daemon.unreachable = "nobody listens";
       examined.file.profiles[0].profile.device = "verbs: mlx5_1";
     },
     {{kWarn, "daemon", "nobody listens", "systemctl start"},
      {kOk, "profile", "costs of verbs to the peer b", ""}}},
};

const std::vector<Row>& node_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> gathered;
    for (const auto& some : {kRowsOfLimits, kRowsOfProcessors, kRowsOfTheNode, kRowsOfProfiles}) {
      gathered.insert(gathered.end(), some.begin(), some.end());
    }
    return gathered;
  }();
  return all;
}

class NodeChecks : public testing::TestWithParam<size_t> {};

TEST_P(NodeChecks, SayWhatIsWrongAndWhatMendsIt) { expect_said_of(node_rows()[GetParam()]); }

INSTANTIATE_TEST_SUITE_P(Hosts, NodeChecks, testing::Range(size_t{0}, node_rows().size()),
                         [](const auto& row) { return std::string(node_rows()[row.param].name); });

TEST(CheckTable, NamesEachOnceAndTheHelpHasThemAll) {
  const auto help = std::ranges::find(hatctl::kCommandHelps, hatctl::Command::kDoctor,
                                      &hatctl::CommandHelp::command);
  std::set<std::string_view> names;
  for (const Check& check : checks()) {
    EXPECT_TRUE(names.insert(check.name).second) << check.name;
    EXPECT_THAT(std::string(help->text), testing::HasSubstr(std::string(check.name)));
  }
}

}  // namespace
}  // namespace hat::doctor
