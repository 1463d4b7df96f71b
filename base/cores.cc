// SPDX-License-Identifier: Apache-2.0
#include "base/cores.h"

#include <linux/mempolicy.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <bitset>
#include <cerrno>
#include <climits>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/number.h"
#include "base/system_error.h"

namespace hat {
namespace {

constexpr const char* kNodes = "/sys/devices/system/node";
constexpr const char* kRdmaDevices = "/sys/class/infiniband";

// Returns the first line of the file; an empty text if the file cannot be read.
std::string first_line(const std::string& path) {
  std::string line;
  std::getline(std::ifstream(path), line);
  return line;
}

std::vector<std::string> names_in(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    names.push_back(entry.path().filename());
  }
  return names;
}

// Returns the NUMA node that a device's folder in /sys gives; nullopt if it gives none.
std::optional<int> node_in(const std::string& device_folder) {
  return parse_number<int>(std::string_view(first_line(device_folder + "/device/numa_node")));
}

// Appends the cores of one part of a list, "3" or "0-3". Returns false if the part is not valid.
bool append_range(std::string_view part, Cores& cores) {
  const size_t dash = part.find('-');
  const auto first = parse_number<int>(part.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<int>(part.substr(dash + 1));
  if (!first || !last || *first < 0 || *last < *first || *last > kCoreMax) return false;
  for (int core = *first; core <= *last; ++core) cores.push_back(core);
  return true;
}

}  // namespace

std::optional<Cores> parse_cores(std::string_view text) {
  std::bitset<kCoreMax + 1> named;
  while (true) {
    const size_t comma = text.find(',');
    Cores range;
    if (!append_range(text.substr(0, comma), range)) return std::nullopt;
    for (const int core : range) named.set(static_cast<size_t>(core));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  }
  Cores cores;
  for (int core = 0; core <= kCoreMax; ++core) {
    if (named.test(static_cast<size_t>(core))) cores.push_back(core);
  }
  return cores;
}

std::string cores_text(const Cores& cores) {
  std::string text;
  for (size_t i = 0; i < cores.size();) {
    size_t last = i;
    while (last + 1 < cores.size() && cores[last + 1] == cores[last] + 1) ++last;
    text += (text.empty() ? "" : ",") + std::to_string(cores[i]);
    if (last != i) text += "-" + std::to_string(cores[last]);
    i = last + 1;
  }
  return text;
}

Cores read_online_cores(const std::string& root) {
  return parse_cores(first_line(root + "/sys/devices/system/cpu/online")).value_or(Cores{});
}

NumaNodes read_numa_nodes(const std::string& root) {
  constexpr std::string_view kPrefix = "node";
  NumaNodes nodes;
  for (const std::string& name : names_in(root + kNodes)) {
    if (!name.starts_with(kPrefix)) continue;
    const auto number = parse_number<int>(std::string_view(name).substr(kPrefix.size()));
    const auto cores = parse_cores(first_line(root + kNodes + "/" + name + "/cpulist"));
    if (number && cores) nodes[*number] = *cores;
  }
  return nodes;
}

std::map<std::string, int> read_rdma_device_nodes(const std::string& root) {
  std::map<std::string, int> nodes;
  for (const std::string& name : names_in(root + kRdmaDevices)) {
    const std::string at = root + kRdmaDevices + "/" + name;
    auto node = node_in(at);
    // A device of software (rxe, siw) names its network interface instead.
    if (!node) node = node_in(root + "/sys/class/net/" + first_line(at + "/parent"));
    nodes[name] = node.value_or(-1);
  }
  return nodes;
}

std::optional<int> node_of(const Cores& cores, const NumaNodes& nodes) {
  const auto found = std::ranges::find_if(
      nodes, [&](const auto& node) { return std::ranges::includes(node.second, cores); });
  if (cores.empty() || found == nodes.end()) return std::nullopt;
  return found->first;
}

namespace {

constexpr size_t kSetBytes = CPU_ALLOC_SIZE(kCoreMax + 1);
using CoreSet = std::array<unsigned long, kSetBytes / sizeof(unsigned long)>;

cpu_set_t* as_cpu_set(CoreSet& set) { return reinterpret_cast<cpu_set_t*>(set.data()); }

}  // namespace

Cores allowed_cores() {
  CoreSet set{};
  Cores cores;
  if (sched_getaffinity(0, kSetBytes, as_cpu_set(set)) != 0) return cores;
  for (int core = 0; core <= kCoreMax; ++core) {
    if (CPU_ISSET_S(static_cast<size_t>(core), kSetBytes, as_cpu_set(set))) cores.push_back(core);
  }
  return cores;
}

Result<void> bind_thread(const Cores& cores) {
  CoreSet set{};
  for (const int core : cores) CPU_SET_S(static_cast<size_t>(core), kSetBytes, as_cpu_set(set));
  if (sched_setaffinity(0, kSetBytes, as_cpu_set(set)) == 0) return {};
  return fail_errno("cannot bind a thread to cores " + cores_text(cores), errno);
}

Result<void> prefer_numa_node(std::span<std::byte> memory, int node) {
  constexpr int kWordBits = sizeof(unsigned long) * CHAR_BIT;
  std::array<unsigned long, (kNumaNodeMax + 1) / kWordBits> mask{};
  if (node < 0 || node > kNumaNodeMax) {
    return fail(ErrorCode::kInvalid, "there is no NUMA node " + std::to_string(node));
  }
  mask[static_cast<size_t>(node / kWordBits)] = 1ul << (node % kWordBits);
  // The kernel reads one bit less than the number that it gets.
  constexpr unsigned long kBits = kNumaNodeMax + 2;
  if (syscall(SYS_mbind, memory.data(), memory.size(), MPOL_PREFERRED, mask.data(), kBits, 0) == 0)
    return {};
  return fail_errno("cannot request memory on NUMA node " + std::to_string(node), errno);
}

}  // namespace hat
