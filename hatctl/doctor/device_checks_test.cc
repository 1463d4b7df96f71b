// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/device_checks_test.cc: tests hosts with each kind of device, and with each obstacle
// that keeps hatrpcd from using the device.
#include "hatctl/doctor/fake_examined.h"

namespace hat::doctor {
namespace {

void plain(FakeTree& tree, Examined&) { tree.plain_host(); }
void roce(FakeTree& tree, Examined&) { tree.roce_host(); }

// Builds a host with an InfiniBand HCA whose port has this state.
void infiniband(FakeTree& tree, const std::string& state) {
  tree.plain_host();
  tree.file("/sys/module/mlx5_ib/refcnt", "1");
  tree.device("mlx5_0", "uverbs0");
  tree.port("mlx5_0", 1, state, "InfiniBand");
  tree.gid("mlx5_0", 1, 0, "fe80:0000:0000:0000:0002:c903:0000:0001", "IB/RoCE v1", "");
}

const std::vector<Row> kRowsOfDevices = {
    {"infiniband",
     [](FakeTree& tree, Examined&) { infiniband(tree, "4: ACTIVE"); },
     {{kOk, "fabric", "hatrpcd uses mlx5_0, port 1", ""},
      {kOk, "ports", "mlx5_0 port 1: InfiniBand, ACTIVE, 100 Gb/sec (4X EDR)", ""},
      {kOk, "gids", "no active RoCE port", ""}}},
    {"infiniband_without_a_subnet_manager",
     [](FakeTree& tree, Examined&) { infiniband(tree, "2: INIT"); },
     {{kFail, "fabric", "calls will use TCP: mlx5_0 cannot be used", "opensm"},
      {kFail, "ports", "mlx5_0 port 1: InfiniBand, INIT", "systemctl enable --now opensm"}}},
    {"infiniband_without_a_cable",
     [](FakeTree& tree, Examined&) { infiniband(tree, "1: DOWN"); },
     {{kFail, "fabric", "none of its ports is active", "ibstat mlx5_0"},
      {kFail, "ports", "InfiniBand, DOWN", "ibstat mlx5_0"}}},
    {"roce_v2",
     roce,
     {{kOk, "fabric", "hatrpcd uses mlx5_0, port 1, GID index 3 (::ffff:10.0.0.1)", ""},
      {kOk, "devices", "mlx5_0: /dev/infiniband/uverbs0, which hatrpcd may open", ""},
      {kOk, "gids", "index 3, RoCE v2 over IPv4, ::ffff:10.0.0.1", ""},
      {kOk, "mtu", "4096 bytes a packet, ens1 has MTU 9000", ""},
      {kOk, "modules", "mlx5_ib", ""},
      {kOk, "memlock", "hatrpcd, pid 77: may lock unlimited; RDMA pins 288 MiB", ""}}},
    {"roce_v2_over_ipv6_alone",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.gid("mlx5_0", 1, 2, "2001:0db8:0000:0000:0000:0000:0000:0001", "IB/RoCE v1", "ens1");
       tree.gid("mlx5_0", 1, 3, "2001:0db8:0000:0000:0000:0000:0000:0001", "RoCE v2", "ens1");
     },
     {{kOk, "gids", "index 3, RoCE v2 over IPv6, 2001:db8::1", ""}}},
    {"roce_with_small_frames",
     [](FakeTree& tree, Examined&) { tree.roce_host(1500); },
     {{kWarn, "mtu", "1024 bytes a packet, ens1 has MTU 1500", "ip link set dev ens1 mtu 4200"}}},
    {"roce_whose_device_says_smaller_packets",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.reports = {usable_device("mlx5_0", 1, 3, 2048)};
     },
     {{kWarn, "mtu", "2048 bytes a packet, ens1 has MTU 9000", "mtu 4200"}}},
    {"roce_v1_alone",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       for (const char* index : {"1", "3"}) {
         tree.file(std::string("/sys/class/infiniband/mlx5_0/ports/1/gid_attrs/types/") + index,
                   "IB/RoCE v1");
       }
     },
     {{kOk, "fabric", "GID index 2", ""},
      {kWarn, "gids", "RoCE v1, ::ffff:10.0.0.1: routers do not forward it", "dev ens1"}}},
    {"roce_without_an_address",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.remove("/sys/class/infiniband/mlx5_0/ports/1/gids/2");
       tree.remove("/sys/class/infiniband/mlx5_0/ports/1/gids/3");
     },
     {{kFail, "fabric", "no GID of port 1 can be used", "ip addr add"},
      {kFail, "gids", "ens1 has only a link-local address",
       "ip addr add ADDRESS/PREFIX dev ens1"}}},
    {"roce_whose_interface_is_down",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.interface("ens1", 9000, false, "mlx5_core");
       tree.file("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
     },
     {{kFail, "fabric", "none of its ports is active", "ip link set dev ens1 up"},
      {kFail, "ports", "mlx5_0 port 1: Ethernet, DOWN", "ip link set dev ens1 up"}}},
    {"roce_without_a_link",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
     },
     {{kFail, "fabric", "none of its ports is active", "ethtool ens1"},
      {kFail, "ports", "Ethernet, DOWN", "ethtool ens1"}}},
    {"a_second_device_is_taken",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.device("mlx4_0", "uverbs1");
       tree.port("mlx4_0", 1, "1: DOWN", "Ethernet");
     },
     {{kOk, "fabric", "hatrpcd uses mlx5_0, port 1", ""},
      {kOk, "ports", "mlx4_0 port 1: Ethernet, DOWN, 100 Gb/sec (4X EDR); hatrpcd does not need it",
       ""}}},
    {"the_second_port_is_taken",
     [](FakeTree& tree, Examined&) {
       infiniband(tree, "1: DOWN");
       tree.port("mlx5_0", 2, "4: ACTIVE", "InfiniBand");
     },
     {{kOk, "fabric", "hatrpcd uses mlx5_0, port 2", ""},
      {kOk, "ports", "mlx5_0 port 1: InfiniBand, DOWN", ""}}},
    {"soft_roce",
     [](FakeTree& tree, Examined&) {
       tree.plain_host();
       tree.interface("eth0", 4200, true, "virtio_net");
       tree.device("rxe0", "uverbs0");
       tree.file("/sys/class/infiniband/rxe0/parent", "eth0");
       tree.file("/sys/module/rdma_rxe/refcnt", "1");
       tree.port("rxe0", 1, "4: ACTIVE", "Ethernet", "2.5 Gb/sec (1X SDR)");
       tree.gid("rxe0", 1, 1, "0000:0000:0000:0000:0000:ffff:0a4d:0001", "RoCE v2", "eth0");
     },
     {{kOk, "fabric", "hatrpcd uses rxe0, port 1, GID index 1 (::ffff:10.77.0.1)", ""},
      {kOk, "modules", "rdma_rxe: loaded", ""}}},
    {"iwarp",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/class/infiniband/mlx5_0/node_type", "4: RNIC");
     },
     {{kFail, "devices", "mlx5_0: hatrpcd would use this device, but it is an iWARP device",
       "rdma link show"}}},
};

const std::vector<Row> kRowsOfAccess = {
    {"without_ib_uverbs",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.remove("/sys/class/infiniband_verbs");
     },
     {{kFail, "fabric", "ib_uverbs is not loaded", "modprobe ib_uverbs"},
      {kWarn, "modules", "ib_uverbs is not loaded", "modprobe ib_uverbs"},
      {kFail, "devices", "ib_uverbs is not loaded", "modprobe ib_uverbs"}}},
    {"a_node_that_only_its_owner_may_open",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.device("mlx5_0", "uverbs0", 0600);
     },
     {{kFail, "fabric", "user hatrpcd may not read and write", "udevadm"},
      {kFail, "devices", "user hatrpcd may not read and write /dev/infiniband/uverbs0",
       "99-hatrpcd.rules"}}},
    {"a_node_that_the_service_may_not_open_before_it_runs",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.device("mlx5_0", "uverbs0", 0600);
       examined.daemon.unreachable = "nobody listens";
     },
     {{kWarn, "daemon", "nobody listens", "systemctl start hatrpcd"},
      {kFail, "fabric", "user hatrpcd may not read and write", "udevadm"},
      {kFail, "devices", "user hatrpcd may not read and write", "udevadm"}}},
    {"a_container_without_the_node",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.remove("/dev/infiniband");
       tree.file("/.dockerenv", "");
     },
     {{kFail, "fabric", "this container has no access to it", "--device="},
      {kFail, "devices", "mlx5_0: /dev/infiniband/uverbs0 does not exist",
       "docker run --device=/dev/infiniband/uverbs0"}}},
    {"a_device_that_the_daemons_code_cannot_use",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.reports = {
           {.device = "mlx5_0", .detail = "mlx5_0: it cannot be queried: Input/output error"}};
     },
     {{kFail, "fabric", "it cannot be queried", "ibv_devinfo -v -d mlx5_0"},
      {kFail, "devices", "it cannot be queried: Input/output error", "ibv_devinfo"}}},
    {"a_container_whose_cgroup_keeps_the_device_from_it",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.file("/.dockerenv", "");
       examined.reports = {
           {.device = "mlx5_0",
            .opens = false,
            .detail = "mlx5_0: it cannot be opened: Operation not permitted; may …"}};
     },
     {{kFail, "fabric", "Operation not permitted", "--device=/dev/infiniband/uverbs0"},
      {kFail, "devices", "Operation not permitted", "--device=/dev/infiniband/uverbs0"}}},
    {"a_gid_that_the_daemons_code_proved",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.reports = {usable_device("mlx5_0", 1, 2, 4096)};
     },
     {{kOk, "fabric", "GID index 2", ""},
      {kWarn, "gids", "index 3 is better, but no address handle", "ip addr show dev ens1"}}},
    {"devices_are_tried_as_the_library_lists_them",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.device("mlx4_0", "uverbs1");
       tree.port("mlx4_0", 1, "4: ACTIVE", "InfiniBand");
       examined.reports = {usable_device("mlx5_0", 1, 3, 4096),
                           usable_device("mlx4_0", 1, -1, 4096)};
     },
     {{kOk, "fabric", "hatrpcd uses mlx5_0", ""}}},
};

const std::vector<Row> kRowsOfFabric = {
    {"without_rdma",
     plain,
     {{kWarn, "fabric", "this host has no RDMA device: calls to other hosts use TCP",
       "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev eth0"},
      {kOk, "memlock", "without a device, no memory is pinned", ""}}},
    {"without_rdma_which_is_required",
     [](FakeTree& tree, Examined& examined) {
       tree.plain_host();
       examined.file.node.fabric.kind = FabricKind::kVerbs;
     },
     {{kFail, "fabric", "with fabric: verbs hatrpcd does not start without one", "rdma_rxe"}}},
    {"without_rdma_which_is_not_wanted",
     [](FakeTree& tree, Examined& examined) {
       tree.plain_host();
       examined.file.node.fabric.kind = FabricKind::kTcp;
     },
     {{kOk, "fabric", "all calls use TCP", ""}}},
    {"a_device_that_is_not_wanted",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       tree.file("/sys/class/infiniband/mlx5_0/ports/1/state", "1: DOWN");
       examined.file.node.fabric.kind = FabricKind::kLoop;
     },
     {{kOk, "fabric", "fabric: loop", ""}, {kOk, "ports", "DOWN", ""}}},
    {"a_card_without_its_module",
     [](FakeTree& tree, Examined&) {
       tree.plain_host();
       tree.interface("ens1", 9000, true, "mlx5_core");
     },
     {{kWarn, "fabric", "this host has no RDMA device", "modprobe mlx5_ib"},
      {kWarn, "modules", "ens1: its card may support RDMA, but the kernel module mlx5_ib",
       "modprobe mlx5_ib"}}},
    {"devices_of_another_network_namespace",
     [](FakeTree& tree, Examined&) {
       tree.plain_host();
       tree.file("/sys/module/ib_core/parameters/netns_mode", "N");
     },
     {{kWarn, "fabric", "netns exclusive", "rdma dev set DEVICE netns NAME"}}},
    {"a_container_on_a_host_without_rdma",
     [](FakeTree& tree, Examined&) {
       tree.plain_host();
       tree.file("/run/.containerenv", "");
     },
     {{kWarn, "fabric", "this is a container", "rdma link show"}}},
    {"a_configured_device_that_is_not_there",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.fabric.device = "mlx5_7";
     },
     {{kFail, "fabric", "there is no device mlx5_7; this host has mlx5_0", "rdma link show"}}},
    {"a_configured_port_that_is_not_active",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.fabric.kind = FabricKind::kVerbs;
       examined.file.node.fabric.port = 2;
     },
     {{kFail, "fabric", "hatrpcd will not start: mlx5_0 cannot be used: port 2 is not active",
       "fabric.port"}}},
    {"a_configured_gid_that_is_not_there",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.fabric.gid_index = 9;
     },
     {{kFail, "fabric", "port 1 has no GID index 9", "ibv_devinfo"},
      {kFail, "gids", "port 1 has no GID index 9", "ibv_devinfo -v -d mlx5_0"}}},
    {"a_configured_gid_that_routers_do_not_pass",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.file.node.fabric.gid_index = 0;
     },
     {{kWarn, "gids", "index 0, RoCE v1, fe80::202:c9ff:fe00:1, as configured",
       "fabric.gid_index: 3"}}},
    {"a_device_that_came_after_the_start",
     [](FakeTree& tree, Examined& examined) {
       tree.roce_host();
       examined.daemon.fabric = "loop: memory shared with peers on this host";
       examined.daemon.fabric_kind = "loop";
     },
     {{kWarn, "fabric", "the running hatrpcd: has loop", "systemctl restart hatrpcd"}}},
    {"a_device_that_went_after_the_start",
     [](FakeTree& tree, Examined& examined) {
       tree.plain_host();
       examined.daemon.fabric = "verbs: mlx5_0, port 1";
       examined.daemon.fabric_kind = "verbs";
     },
     {{kWarn, "fabric", "this host has no RDMA device", "rdma_rxe"},
      {kWarn, "fabric", "the running hatrpcd: has verbs: mlx5_0", "hatctl status"}}},
    {"a_network_that_loses_packets",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       const std::string at = "/sys/class/infiniband/mlx5_0/ports/1/";
       tree.file(at + "hw_counters/out_of_sequence", "40");
       tree.file(at + "hw_counters/packet_seq_err", "2");
       tree.file(at + "counters/port_rcv_packets", "1000000");
     },
     {{kWarn, "congestion", "packet_seq_err 2 of 1M packets", "mlnx_qos -i ens1"}}},
    {"a_network_that_lost_a_packet_once",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       const std::string at = "/sys/class/infiniband/mlx5_0/";
       tree.file(at + "ports/1/hw_counters/out_of_sequence", "9");
       tree.file(at + "ports/1/hw_counters/np_cnp_sent", "5");
       tree.file(at + "ports/1/counters/port_rcv_packets", "1000000");
       tree.file(at + "tc/1/traffic_class", "Global tclass=106");
     },
     {{kOk, "congestion", "5 congestion notices; traffic class: Global tclass=106", ""}}},
    {"ecn_that_is_off",
     [](FakeTree& tree, Examined&) {
       tree.roce_host();
       tree.file("/sys/class/net/ens1/ecn/roce_np/enable/3", "0");
       tree.file("/sys/class/net/ens1/ecn/roce_rp/enable/3", "1");
     },
     {{kWarn, "congestion", "ECN is off", "echo 1 >/sys/class/net/ens1/ecn/roce_np/enable/3"}}},
};

const std::vector<Row>& device_rows() {
  static const std::vector<Row> all = [] {
    std::vector<Row> gathered;
    for (const auto& some : {kRowsOfDevices, kRowsOfAccess, kRowsOfFabric}) {
      gathered.insert(gathered.end(), some.begin(), some.end());
    }
    return gathered;
  }();
  return all;
}

class DeviceChecks : public testing::TestWithParam<size_t> {};

TEST_P(DeviceChecks, SayWhatIsWrongAndWhatMendsIt) { expect_said_of(device_rows()[GetParam()]); }

INSTANTIATE_TEST_SUITE_P(Hosts, DeviceChecks, testing::Range(size_t{0}, device_rows().size()),
                         [](const auto& row) {
                           return std::string(device_rows()[row.param].name);
                         });

TEST(MayOpen, GoesByOwnerGroupAndTheRest) {
  const DeviceNode node{.path = "/dev/x", .present = true, .mode = 0660, .uid = 0, .gid = 104};
  Process who{.uid = 998, .gid = 998};
  EXPECT_FALSE(may_open(node, who));
  who.groups = {104};
  EXPECT_TRUE(may_open(node, who));
  who.groups = {};
  who.gid = 104;
  EXPECT_TRUE(may_open(node, who));
  who.uid = 0;
  EXPECT_TRUE(may_open({.mode = 0600, .uid = 0}, who));
  EXPECT_FALSE(may_open({.mode = 0466, .uid = 0}, who)) << "the owner's bits alone count for him";
  who.capabilities = 1u << kCapDacOverride;
  EXPECT_TRUE(may_open({.mode = 0, .uid = 5}, who));
}

}  // namespace
}  // namespace hat::doctor
