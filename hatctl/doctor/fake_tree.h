// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/fake_tree.h: a temporary root folder with the files of an invented host, for tests.
// Plain files stand for those of /proc and /sys, and for device nodes.
#pragma once

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace hat::doctor {

class FakeTree {
 public:
  FakeTree() {
    std::string pattern = testing::TempDir() + "/hatrpc-doctor-XXXXXX";
    root_ = mkdtemp(pattern.data());
  }
  ~FakeTree() { std::filesystem::remove_all(root_); }
  FakeTree(const FakeTree&) = delete;
  FakeTree& operator=(const FakeTree&) = delete;

  const std::string& root() const { return root_; }

  void file(const std::string& path, const std::string& text, mode_t mode = 0644) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
    chmod((root_ + path).c_str(), mode);
  }
  void folder(const std::string& path) { std::filesystem::create_directories(root_ + path); }
  void link(const std::string& path, const std::string& to) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    remove(path);
    std::filesystem::create_symlink(to, root_ + path);
  }
  void remove(const std::string& path) { std::filesystem::remove_all(root_ + path); }

  void device(const std::string& name, const std::string& uverbs, mode_t mode = 0666) {
    const std::string at = "/sys/class/infiniband/" + name;
    file(at + "/node_type", "1: CA");
    file(at + "/device/numa_node", "-1");
    file("/sys/class/infiniband_verbs/" + uverbs + "/ibdev", name);
    file("/dev/infiniband/" + uverbs, "", mode);
  }
  void port(const std::string& device, int number, const std::string& state,
            const std::string& link_layer, const std::string& rate = "100 Gb/sec (4X EDR)") {
    const std::string at = port_path(device, number);
    file(at + "/state", state);
    file(at + "/link_layer", link_layer);
    file(at + "/rate", rate);
  }
  // Adds an entry to a port's GID table. `gid` has the form in which the kernel writes it. `type`
  // is "RoCE v2" or "IB/RoCE v1".
  void gid(const std::string& device, int port, int index, const std::string& gid,
           const std::string& type, const std::string& interface) {
    const std::string at = port_path(device, port);
    const std::string name = "/" + std::to_string(index);
    file(at + "/gids" + name, gid);
    file(at + "/gid_attrs/types" + name, type);
    file(at + "/gid_attrs/ndevs" + name, interface);
  }
  void interface(const std::string& name, int mtu, bool up, const std::string& driver) {
    const std::string at = "/sys/class/net/" + name;
    file(at + "/mtu", std::to_string(mtu));
    file(at + "/flags", up ? "0x1003" : "0x1002");
    file(at + "/carrier", up ? "1" : "0");
    if (!driver.empty()) link(at + "/device/driver", "../../../bus/pci/drivers/" + driver);
  }
  void process(const std::string& pid, const std::string& command, int uid,
               const std::string& memlock, const std::string& capabilities = "0000000000000000") {
    const std::string at = "/proc/" + pid;
    const std::string ids = std::to_string(uid) + "\t" + std::to_string(uid) + "\t" +
                            std::to_string(uid) + "\t" + std::to_string(uid);
    file(at + "/status", "Name:\t" + command + "\nPid:\t" + (pid == "self" ? "4711" : pid) +
                             "\nUid:\t" + ids + "\nGid:\t" + ids + "\nGroups:\t" + "\nCapEff:\t" +
                             capabilities + "\nCpus_allowed_list:\t0-7");
    file(at + "/limits",
         "Limit                     Soft Limit           Hard Limit           Units     \n"
         "Max open files            1024                 1048576              files     \n"
         "Max locked memory         " +
             memlock + "   " + memlock + "   bytes     ");
    file(at + "/cgroup", "0::/system.slice/hatrpcd.service");
  }

  // Builds a host with 8 cores and without RDMA, on which everything is in order. Its hatrpcd is
  // process 77.
  void plain_host() {
    process("self", "hatctl", 1000, "unlimited");
    process("77", "hatrpcd", 998, "unlimited");
    file("/etc/passwd",
         "root:x:0:0:root:/root:/bin/bash\nhatrpcd:x:998:998::/run/hatrpcd:/bin/no\n"
         "somebody:x:1000:1000::/home:/bin/bash");
    file("/etc/group", "root:x:0:\nrdma:x:104:other,hatrpcd\nhatrpcd:x:998:");
    file("/proc/meminfo",
         "MemTotal: 33554432 kB\nMemAvailable:   16777216 kB\n"
         "HugePages_Total:       8\nHugePages_Free:        3\n"
         "Hugepagesize:       2048 kB");
    file("/proc/pressure/cpu",
         "some avg10=0.00 avg60=1.50 avg300=0.40 total=1234\n"
         "full avg10=0.00 avg60=99.00 avg300=0.00 total=0");
    file("/sys/devices/system/node/node0/cpulist", "0-7");
    file("/sys/devices/system/clocksource/clocksource0/current_clocksource", "tsc");
    interface("lo", 65536, true, "");
    interface("eth0", 1500, true, "virtio_net");
    folder("/dev/shm");
  }
  // Builds a plain host with a RoCE card whose GID table is typical: index 3 is RoCE v2 over IPv4.
  void roce_host(int mtu = 9000) {
    plain_host();
    interface("ens1", mtu, true, "mlx5_core");
    file("/sys/module/mlx5_ib/refcnt", "1");
    device("mlx5_0", "uverbs0");
    port("mlx5_0", 1, "4: ACTIVE", "Ethernet");
    gid("mlx5_0", 1, 0, "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "IB/RoCE v1", "ens1");
    gid("mlx5_0", 1, 1, "fe80:0000:0000:0000:0202:c9ff:fe00:0001", "RoCE v2", "ens1");
    gid("mlx5_0", 1, 2, "0000:0000:0000:0000:0000:ffff:0a00:0001", "IB/RoCE v1", "ens1");
    gid("mlx5_0", 1, 3, "0000:0000:0000:0000:0000:ffff:0a00:0001", "RoCE v2", "ens1");
    gid("mlx5_0", 1, 4, "0000:0000:0000:0000:0000:0000:0000:0000", "", "");
  }

 private:
  static std::string port_path(const std::string& device, int number) {
    return "/sys/class/infiniband/" + device + "/ports/" + std::to_string(number);
  }

  std::string root_;
};

}  // namespace hat::doctor
