// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/read_host.h"

#include <gmock/gmock.h>

#include "hatctl/doctor/fake_tree.h"

namespace hat::doctor {
namespace {

using testing::ElementsAre;

TEST(ReadHost, HasDevicesWithPortsAndTheirAddresses) {
  FakeTree tree;
  tree.roce_host();
  tree.file("/sys/class/infiniband/mlx5_0/ports/1/hw_counters/out_of_sequence", "7");
  tree.file("/sys/class/infiniband/mlx5_0/ports/1/counters/port_rcv_packets", "900");
  tree.file("/sys/class/infiniband/mlx5_0/ports/1/counters/text", "N/A");
  const Host host = read_host(tree.root(), std::nullopt);
  ASSERT_EQ(host.devices.size(), 1u);
  const RdmaDevice& device = host.devices[0];
  EXPECT_EQ(device.name, "mlx5_0");
  EXPECT_EQ(device.node_type, "CA");
  EXPECT_EQ(device.interface, "ens1");
  EXPECT_EQ(device.numa_node, -1);
  ASSERT_TRUE(device.node);
  EXPECT_EQ(device.node->path, "/dev/infiniband/uverbs0");
  EXPECT_TRUE(device.node->present);
  EXPECT_EQ(device.node->mode, 0666u);
  ASSERT_EQ(device.ports.size(), 1u);
  const Port& port = device.ports[0];
  EXPECT_EQ(port.number, 1);
  EXPECT_TRUE(port.active());
  EXPECT_TRUE(port.by_gid());
  EXPECT_EQ(port.rate, "100 Gb/sec (4X EDR)");
  ASSERT_EQ(port.gids.size(), 4u) << "the fifth is empty";
  EXPECT_EQ(port.gids[3].index, 3);
  EXPECT_TRUE(port.gids[3].roce_v2);
  EXPECT_FALSE(port.gids[2].roce_v2);
  EXPECT_EQ(engine::gid_text(port.gids[3].bytes), "::ffff:10.0.0.1");
  EXPECT_EQ(port.counters,
            (std::map<std::string, uint64_t>{{"out_of_sequence", 7}, {"port_rcv_packets", 900}}));
}

TEST(ReadHost, NamesTheInterfaceOfSoftRoceAndOfACardWithoutAddress) {
  FakeTree tree;
  tree.device("rxe0", "uverbs0");
  tree.file("/sys/class/infiniband/rxe0/parent", "eth7");
  tree.device("mlx5_0", "uverbs1");
  tree.folder("/sys/class/infiniband/mlx5_0/device/net/ens9");
  const auto devices = read_devices(Files(tree.root()));
  ASSERT_EQ(devices.size(), 2u);
  EXPECT_EQ(devices[0].interface, "ens9");
  EXPECT_EQ(devices[1].interface, "eth7");
}

TEST(ReadHost, DistinguishesADeviceWithoutAModuleFromOneWithoutANode) {
  FakeTree tree;
  tree.device("a", "uverbs0");
  tree.device("b", "uverbs1");
  tree.remove("/sys/class/infiniband_verbs/uverbs0");
  tree.remove("/dev/infiniband/uverbs1");
  const auto devices = read_devices(Files(tree.root()));
  EXPECT_FALSE(devices[0].node);
  ASSERT_TRUE(devices[1].node);
  EXPECT_FALSE(devices[1].node->present);
}

TEST(ReadHost, HasInterfacesButLoopback) {
  FakeTree tree;
  tree.plain_host();
  tree.interface("ens1", 4200, false, "mlx5_core");
  tree.file("/sys/class/net/bonding_masters", "bond0");
  tree.file("/sys/class/net/ens1/ecn/roce_np/enable/3", "1");
  tree.file("/sys/class/net/ens1/ecn/roce_rp/enable/3", "0");
  const auto interfaces = read_interfaces(Files(tree.root()));
  ASSERT_EQ(interfaces.size(), 2u);
  EXPECT_EQ(interfaces[0].name, "ens1");
  EXPECT_EQ(interfaces[0].mtu, 4200u);
  EXPECT_FALSE(interfaces[0].up);
  EXPECT_EQ(interfaces[0].driver, "mlx5_core");
  EXPECT_EQ(interfaces[0].ecn_at, "/sys/class/net/ens1/ecn");
  EXPECT_FALSE(interfaces[0].ecn_enabled) << "both ways are needed";
  EXPECT_EQ(interfaces[1].name, "eth0");
  EXPECT_TRUE(interfaces[1].up && interfaces[1].carrier);
  EXPECT_EQ(interfaces[1].ecn_at, "");
}

TEST(ReadHost, HasProcessesWithTheirRightsAndLimits) {
  FakeTree tree;
  tree.plain_host();
  tree.process("78", "hatrpcd", 1000, "8388608", "0000000000804000");
  const auto process = read_process(Files(tree.root()), "78");
  ASSERT_TRUE(process);
  EXPECT_EQ(process->pid, 78);
  EXPECT_EQ(process->user, "somebody");
  EXPECT_EQ(process->uid, 1000u);
  EXPECT_TRUE(process->may(kCapIpcLock) && process->may(kCapSysNice));
  EXPECT_FALSE(process->may(kCapDacOverride));
  EXPECT_EQ(process->memlock.soft, 8388608u);
  EXPECT_EQ(process->descriptors.soft, 1024u);
  EXPECT_EQ(process->descriptors.hard, 1048576u);
  EXPECT_THAT(process->cpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  EXPECT_FALSE(read_process(Files(tree.root()), "79"));
  EXPECT_EQ(read_process(Files(tree.root()), "77")->memlock.hard, kUnlimited);
}

TEST(ReadHost, TakesADaemonOnlyWhereItsNumberIsOne) {
  FakeTree tree;
  tree.plain_host();
  tree.process("80", "bash", 0, "unlimited");
  EXPECT_EQ(read_host(tree.root(), 77).daemon->user, "hatrpcd");
  EXPECT_FALSE(read_host(tree.root(), 80).daemon) << "of another process namespace, say";
  EXPECT_FALSE(read_host(tree.root(), 81).daemon);
  EXPECT_FALSE(read_host(tree.root(), std::nullopt).daemon);
}

TEST(ReadHost, HasTheServicesUserWithItsGroups) {
  FakeTree tree;
  tree.plain_host();
  const auto user = read_account(Files(tree.root()), "hatrpcd");
  ASSERT_TRUE(user);
  EXPECT_EQ(user->uid, 998u);
  EXPECT_EQ(user->gid, 998u);
  EXPECT_THAT(user->groups, ElementsAre(104));
  EXPECT_EQ(user->capabilities, 0u);
  EXPECT_FALSE(read_account(Files(tree.root()), "hatrpc"));
  EXPECT_EQ(account_name(Files(tree.root()), "/etc/group", 104), "rdma");
  EXPECT_EQ(account_name(Files(tree.root()), "/etc/group", 105), "105");
}

TEST(ReadHost, TakesTheLowestBoundOfACgroupAndThoseAboveIt) {
  FakeTree tree;
  tree.plain_host();
  const std::string slice = "/sys/fs/cgroup/system.slice";
  tree.file(slice + "/memory.max", "1073741824");
  tree.file(slice + "/cpu.max", "max 100000");
  tree.file(slice + "/rdma.max", "mlx5_0 hca_handle=max hca_object=50");
  tree.file(slice + "/hatrpcd.service/memory.max", "max");
  tree.file(slice + "/hatrpcd.service/cpu.max", "150000 100000");
  tree.file(slice + "/hatrpcd.service/cpu.stat", "usage_usec 5\nnr_throttled 12\nthrottled_usec 9");
  tree.file(slice + "/hatrpcd.service/rdma.max", "mlx5_0 hca_handle=2 hca_object=2000");
  const Cgroup cgroup = read_process(Files(tree.root()), "77")->cgroup;
  EXPECT_EQ(cgroup.path, "/system.slice/hatrpcd.service");
  EXPECT_EQ(cgroup.memory_max, 1073741824u);
  EXPECT_EQ(cgroup.memory_max_at, slice);
  EXPECT_EQ(cgroup.cores_max, 1.5);
  EXPECT_EQ(cgroup.throttled, 12u);
  EXPECT_EQ(cgroup.rdma_max.at("mlx5_0"),
            (std::map<std::string, uint64_t>{{"hca_handle", 2}, {"hca_object", 50}}));
  EXPECT_FALSE(cgroup.memory_by_v1);
}

TEST(ReadHost, SeesCgroupsOfBothVersions) {
  FakeTree tree;
  tree.plain_host();
  tree.file("/proc/77/cgroup", "4:memory:/x\n1:cpu,cpuacct:/\n0::/");
  tree.file("/sys/fs/cgroup/unified/cgroup.controllers", "");
  tree.file("/sys/fs/cgroup/unified/memory.max", "4096");
  const Cgroup cgroup = read_process(Files(tree.root()), "77")->cgroup;
  EXPECT_TRUE(cgroup.memory_by_v1);
  EXPECT_EQ(cgroup.path, "/");
  EXPECT_EQ(cgroup.memory_max, 4096u);
}

TEST(ReadHost, HasMemoryProcessorsAndClock) {
  FakeTree tree;
  tree.plain_host();
  tree.file("/sys/devices/system/node/node1/cpulist", "8-9,12");
  tree.file("/sys/devices/system/cpu/isolated", "12");
  tree.file("/sys/devices/system/cpu/online", "0-12");
  tree.file("/sys/module/ib_core/parameters/netns_mode", "N");
  tree.file("/.dockerenv", "");
  const Host host = read_host(tree.root(), std::nullopt);
  EXPECT_EQ(host.memory_available, 16ull << 30);
  EXPECT_EQ(host.huge_pages_total, 8u);
  EXPECT_EQ(host.huge_pages_free, 3u);
  EXPECT_EQ(host.huge_page_bytes, 2ull << 20);
  EXPECT_EQ(host.cpu_pressure, 1.5) << "of `some`, not of `full`";
  EXPECT_FALSE(host.memory_pressure);
  EXPECT_THAT(host.numa_cpus.at(1), ElementsAre(8, 9, 12));
  EXPECT_THAT(host.isolated_cpus, ElementsAre(12));
  EXPECT_EQ(host.online_cpus.size(), 13u);
  EXPECT_EQ(host.clock_source, "tsc");
  EXPECT_TRUE(host.devices_in_one_namespace);
  EXPECT_TRUE(host.container);
  EXPECT_GT(host.shm_bytes, 0u);
}

TEST(ReadHost, SurvivesARootWithoutAnything) {
  FakeTree tree;
  const Host host = read_host(tree.root(), 77);
  EXPECT_TRUE(host.devices.empty() && host.interfaces.empty());
  EXPECT_FALSE(host.daemon || host.container || host.uverbs_class);
  EXPECT_EQ(host.shm_bytes, 0u);
}

}  // namespace
}  // namespace hat::doctor
