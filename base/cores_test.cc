// SPDX-License-Identifier: Apache-2.0
#include "base/cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/shared_memory.h"

namespace hat {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(Cores, ListsAreReadSortedAndWrittenAgain) {
  EXPECT_EQ(parse_cores("0-2,5"), (Cores{0, 1, 2, 5}));
  EXPECT_EQ(parse_cores("8, 2-3, 3"), (Cores{2, 3, 8}));
  EXPECT_EQ(parse_cores("8191"), (Cores{kCoreMax}));
  EXPECT_EQ(cores_text({0, 1, 2, 5, 7, 8}), "0-2,5,7-8");
  EXPECT_EQ(cores_text({}), "");
}

TEST(Cores, AListThatIsNotValidIsRefused) {
  for (const char* text :
       {"", ",", "1,", "-1", "3-1", "1-", "a", "0-8192", "0-4000000000", "1 2", "1;2", " 1"}) {
    EXPECT_EQ(parse_cores(text), std::nullopt) << "'" << text << "'";
  }
}

// A folder with the files of an invented host.
class Tree {
 public:
  Tree() {
    std::string pattern = testing::TempDir() + "/hatrpc-cores-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~Tree() { std::filesystem::remove_all(root_); }
  Tree(const Tree&) = delete;
  Tree& operator=(const Tree&) = delete;
  const std::string& root() const { return root_; }
  void file(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }

 private:
  std::string root_;
};

TEST(Cores, NodesAreReadFromSys) {
  Tree tree;
  tree.file("/sys/devices/system/cpu/online", "0-3,8-11");
  tree.file("/sys/devices/system/node/node0/cpulist", "0-3");
  tree.file("/sys/devices/system/node/node1/cpulist", "8-11");
  tree.file("/sys/devices/system/node/node2/cpulist", "");  // memory alone
  tree.file("/sys/devices/system/node/possible", "0-2");
  EXPECT_THAT(read_online_cores(tree.root()), ElementsAre(0, 1, 2, 3, 8, 9, 10, 11));
  const NumaNodes nodes = read_numa_nodes(tree.root());
  EXPECT_THAT(nodes, ElementsAre(Pair(0, Cores{0, 1, 2, 3}), Pair(1, Cores{8, 9, 10, 11})));
  EXPECT_EQ(node_of({1, 3}, nodes), 0);
  EXPECT_EQ(node_of({9}, nodes), 1);
  EXPECT_EQ(node_of({3, 8}, nodes), std::nullopt);
  EXPECT_EQ(node_of({}, nodes), std::nullopt);
}

TEST(Cores, ARdmaDeviceHasTheNodeOfItsCardOrOfItsInterface) {
  Tree tree;
  tree.file("/sys/class/infiniband/mlx5_0/device/numa_node", "1");
  tree.file("/sys/class/infiniband/mlx5_1/device/numa_node", "-1");
  tree.file("/sys/class/infiniband/rxe0/parent", "ens1");
  tree.file("/sys/class/net/ens1/device/numa_node", "1");
  tree.file("/sys/class/infiniband/rxe1/parent", "veth0");
  EXPECT_THAT(
      read_rdma_device_nodes(tree.root()),
      ElementsAre(Pair("mlx5_0", 1), Pair("mlx5_1", -1), Pair("rxe0", 1), Pair("rxe1", -1)));
}

TEST(Cores, NothingIsReadFromAHostWithoutTheFiles) {
  Tree tree;
  EXPECT_THAT(read_online_cores(tree.root()), IsEmpty());
  EXPECT_THAT(read_numa_nodes(tree.root()), IsEmpty());
  EXPECT_THAT(read_rdma_device_nodes(tree.root()), IsEmpty());
}

TEST(Cores, AThreadIsBoundToItsCoresAlone) {
  const Cores before = allowed_cores();
  ASSERT_FALSE(before.empty());
  std::thread([&] {
    ASSERT_TRUE(bind_thread({before.back()}));
    EXPECT_EQ(allowed_cores(), Cores{before.back()});
    const auto refused = bind_thread({kCoreMax});
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message, "cannot bind a thread to cores 8191: Invalid argument");
    EXPECT_EQ(allowed_cores(), Cores{before.back()});
  }).join();
  EXPECT_EQ(allowed_cores(), before);
}

TEST(Cores, MemoryOfANodeThatDoesNotExistIsRefused) {
  const SharedMemory memory = *SharedMemory::create("cores", 8192);
  for (const int node : {-1, 1023, 1024}) {
    const auto refused = prefer_numa_node(memory.bytes(), node);
    ASSERT_FALSE(refused) << node;
    EXPECT_THAT(refused.error().message, testing::HasSubstr("NUMA node " + std::to_string(node)));
  }
}

}  // namespace
}  // namespace hat
