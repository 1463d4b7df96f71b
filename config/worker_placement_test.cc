// SPDX-License-Identifier: Apache-2.0
#include "config/worker_placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace hat {
namespace {

using Kind = WorkerCores::Kind;

// Two nodes of four cores; the numbers of the cores alternate between two ranges, as with threads
// of one core. The RDMA device is on node 1.
HostCores two_nodes(Cores allowed = *parse_cores("0-7")) {
  return {.allowed = std::move(allowed),
          .online = *parse_cores("0-7"),
          .nodes = {{0, {0, 1, 4, 5}}, {1, {2, 3, 6, 7}}},
          .nic_node = 1};
}

NodeConfig wanting(uint32_t workers, Kind kind, Cores cores = {}) {
  NodeConfig node;
  node.workers = workers;
  node.worker_cores = {.kind = kind, .cores = std::move(cores), .location = {}};
  return node;
}

// Returns one word for each worker, such as "2,3@1": its cores, its node and whether its memory is
// requested there.
std::string text(const Result<std::vector<WorkerPlacement>>& placed) {
  if (!placed) return placed.error().message;
  std::string all;
  for (const WorkerPlacement& one : *placed) {
    all += (all.empty() ? "" : " ") + (one.cores.empty() ? "any" : cores_text(one.cores));
    if (one.node) all += "@" + std::to_string(*one.node);
    if (one.memory_node) all += "m" + std::to_string(*one.memory_node);
  }
  return all;
}

struct PlacementRow {
  const char* name;
  NodeConfig node;
  HostCores host;
  const char* placed;
};
std::ostream& operator<<(std::ostream& out, const PlacementRow& row) { return out << row.name; }

class WorkerPlacementTest : public testing::TestWithParam<PlacementRow> {};

TEST_P(WorkerPlacementTest, FollowsFromTheConfigurationAndTheHost) {
  EXPECT_EQ(text(place_workers(GetParam().node, GetParam().host)), GetParam().placed);
}

HostCores one_node() {
  return {.allowed = {0, 1}, .online = {0, 1}, .nodes = {{0, {0, 1}}}, .nic_node = 0};
}
HostCores without_device() {
  HostCores host = two_nodes();
  host.nic_node = fail(ErrorCode::kNotFound, "this host has no RDMA device");
  return host;
}

INSTANTIATE_TEST_SUITE_P(
    Rows, WorkerPlacementTest,
    testing::Values(
        PlacementRow{"auto_is_not_bound", wanting(0, Kind::kAuto), two_nodes(), "any any"},
        PlacementRow{"auto_on_one_node", wanting(3, Kind::kAuto), one_node(), "any@0 any@0 any@0"},
        PlacementRow{"auto_of_a_process_on_one_node", wanting(2, Kind::kAuto),
                     two_nodes({2, 3, 6, 7}), "any@1 any@1"},
        PlacementRow{"one_worker_for_each_listed_core", wanting(0, Kind::kListed, {2, 3, 6}),
                     two_nodes(), "2@1m1 3@1m1 6@1m1"},
        PlacementRow{"nodes_take_turns", wanting(0, Kind::kListed, {1, 2, 3, 4, 5}), two_nodes(),
                     "1@0m0 2@1m1 4@0m0 3@1m1 5@0m0"},
        PlacementRow{"fewer_workers_than_cores", wanting(2, Kind::kListed, {1, 2, 3, 4}),
                     two_nodes(), "1@0m0 2@1m1"},
        PlacementRow{"more_workers_than_cores_share_a_node",
                     wanting(5, Kind::kListed, {1, 2, 3, 4}), two_nodes(),
                     "1,4@0m0 2-3@1m1 1,4@0m0 2-3@1m1 1,4@0m0"},
        PlacementRow{"memory_is_not_placed_on_one_node", wanting(0, Kind::kListed, {1}), one_node(),
                     "1@0"},
        PlacementRow{"near_the_device", wanting(0, Kind::kNic), two_nodes(), "2-3,6-7@1m1"},
        PlacementRow{"near_the_device_within_the_mask", wanting(2, Kind::kNic),
                     two_nodes({0, 1, 2, 3}), "2-3@1m1 2-3@1m1"},
        PlacementRow{"no_device", wanting(0, Kind::kNic), without_device(),
                     "the NUMA node of the RDMA device is not known: this host has no RDMA device. "
                     "List the cores instead"},
        PlacementRow{"not_near_the_device", wanting(0, Kind::kNic), two_nodes({0, 1}),
                     "hatrpcd may run only on cores 0-1, and none of them is on NUMA node 1 of the "
                     "RDMA device"},
        PlacementRow{"no_such_core", wanting(0, Kind::kListed, {1, 8, 9}), two_nodes(),
                     "this host has no core 8-9 that is online; its cores are 0-7"},
        PlacementRow{"outside_of_the_mask", wanting(0, Kind::kListed, {1, 3}), two_nodes({0, 1}),
                     "hatrpcd may not run on core 3, only on 0-1; list cores of these, or widen "
                     "the process's affinity mask (CPUAffinity= or AllowedCPUs= of its unit, "
                     "taskset, the container's cpuset)"}),
    [](const auto& row) { return std::string(row.param.name); });

TEST(WorkerPlacement, AutoIsAQuarterOfTheCoresAndAListHasALimit) {
  HostCores host{.nodes = {{0, *parse_cores("0-255")}}};
  for (const auto& [cores, workers] :
       {std::pair{"0", 1u}, {"0-15", 4u}, {"0-255", 8u}, {"3,5", 1u}}) {
    host.allowed = *parse_cores(cores);
    EXPECT_EQ(place_workers(wanting(0, Kind::kAuto), host)->size(), workers) << cores;
  }
  host.allowed = *parse_cores("0-255");
  EXPECT_EQ(place_workers(wanting(0, Kind::kListed, *parse_cores("0-200")), host)->size(),
            kWorkersMax);
}

TEST(WorkerPlacement, ACoreOfNoNodeStillGetsAWorker) {
  const HostCores host{.allowed = {0, 1}, .nodes = {{0, {0}}}};
  EXPECT_EQ(text(place_workers(wanting(2, Kind::kListed, {0, 1}), host)), "0@0 1");
}

TEST(WorkerPlacement, CountsTheCoresNearTheDevice) {
  EXPECT_EQ(count_nic_cores(two_nodes(), 8), 4u);
  EXPECT_EQ(count_nic_cores(two_nodes({0, 1, 2}), 3), 1u);
  EXPECT_EQ(count_nic_cores(two_nodes({0, 1}), 2), 2u) << "none is near: all count";
  EXPECT_EQ(count_nic_cores(without_device(), 8), 8u);
  EXPECT_EQ(count_nic_cores(two_nodes(), 3), 3u) << "never more than all cores";
  EXPECT_EQ(count_nic_cores(two_nodes(Cores{}), 4), 4u) << "the allowed cores are not known";
  HostCores unknown = without_device();
  unknown.allowed.clear();
  EXPECT_EQ(count_nic_cores(unknown, 4), 4u) << "never 0";
}

// --- Facts about a host ---

class FakeSys {
 public:
  FakeSys() {
    std::string pattern = testing::TempDir() + "/hatrpc-placement-XXXXXX";
    root_ = mkdtemp(pattern.data());
    file("/sys/devices/system/cpu/online", "0-3");
    file("/sys/devices/system/node/node0/cpulist", "0-1");
    file("/sys/devices/system/node/node1/cpulist", "2-3");
  }
  ~FakeSys() { std::filesystem::remove_all(root_); }
  FakeSys(const FakeSys&) = delete;
  FakeSys& operator=(const FakeSys&) = delete;

  void file(const std::string& path, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  void remove(const std::string& path) const { std::filesystem::remove_all(root_ + path); }
  void device(const std::string& name, int node) const {
    file("/sys/class/infiniband/" + name + "/device/numa_node", std::to_string(node));
  }
  std::string nic_node(const FabricConfig& fabric = {}) const {
    const auto node = read_host_cores(fabric, {0, 1, 2, 3}, root_).nic_node;
    return node ? std::to_string(*node) : node.error().message;
  }
  const std::string& root() const { return root_; }

 private:
  std::string root_;
};

TEST(HostCoresTest, TheDevicesNodeIsKnownOrTheReasonIsGiven) {
  const FakeSys sys;
  EXPECT_EQ(sys.nic_node(), "this host has no RDMA device");
  sys.device("mlx5_0", 1);
  EXPECT_EQ(sys.nic_node(), "1");
  EXPECT_EQ(sys.nic_node({.kind = FabricKind::kLoop}), "`fabric: loop` uses no RDMA device");
  EXPECT_EQ(sys.nic_node({.device = "mlx5_7"}), "this host has no RDMA device mlx5_7");
  sys.device("mlx5_1", 1);
  EXPECT_EQ(sys.nic_node(), "1");
  sys.device("mlx5_2", 0);
  EXPECT_EQ(sys.nic_node(),
            "the RDMA devices of this host are on different NUMA nodes; name one in "
            "`fabric.device`");
  EXPECT_EQ(sys.nic_node({.device = "mlx5_2"}), "0");
  sys.device("rxe0", -1);
  EXPECT_EQ(sys.nic_node({.device = "rxe0"}),
            "the kernel gives no NUMA node with cores for RDMA device rxe0");
}

TEST(HostCoresTest, AHostWithOneNodeNeedsNoDevice) {
  const FakeSys sys;
  sys.remove("/sys/devices/system/node/node1");
  EXPECT_EQ(sys.nic_node({.kind = FabricKind::kTcp}), "0");
  sys.remove("/sys/devices/system/node");
  const HostCores host = read_host_cores({}, {1, 2}, sys.root());
  EXPECT_EQ(host.nodes, (NumaNodes{{0, {0, 1, 2, 3}}}));
  EXPECT_EQ(host.nic_node.value_or(-1), 0);
}

}  // namespace
}  // namespace hat
