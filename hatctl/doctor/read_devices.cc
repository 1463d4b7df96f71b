// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/read_devices.cc: reads RDMA devices and network interfaces from /sys and /dev.
#include <sys/stat.h>

#include <algorithm>
#include <array>

#include "hatctl/doctor/read_host.h"

namespace hat::doctor {
namespace {

const std::string kDevices = "/sys/class/infiniband/";
const std::string kNodes = "/sys/class/infiniband_verbs/";
const std::string kInterfaces = "/sys/class/net/";

// Returns the text after the number of a value such as "4: ACTIVE" or "1: CA".
std::string behind_colon(const std::string& text) {
  const size_t colon = text.find(": ");
  return colon == std::string::npos ? text : text.substr(colon + 2);
}

// Parses a GID in the form that the kernel uses in /sys: eight groups of four hexadecimal digits,
// with no group left out.
std::optional<engine::GidBytes> parse_gid(const std::string& text) {
  engine::GidBytes bytes{};
  std::string digits = text;
  std::erase(digits, ':');
  if (digits.size() != 2 * bytes.size()) return std::nullopt;
  for (size_t i = 0; i < bytes.size(); ++i) {
    const auto byte = parse_number<uint8_t>(std::string_view(digits).substr(2 * i, 2), 16);
    if (!byte) return std::nullopt;
    bytes[i] = *byte;
  }
  return bytes;
}

bool is_empty(const engine::GidBytes& gid) {
  return std::ranges::all_of(gid, [](uint8_t byte) { return byte == 0; });
}

std::vector<Gid> read_gids(const Files& files, const std::string& port) {
  std::vector<Gid> gids;
  for (const std::string& name : files.names(port + "/gids")) {
    const auto index = parse_number<int>(std::string_view(name));
    const auto bytes = parse_gid(files.text_or(port + "/gids/" + name, ""));
    if (!index || !bytes || is_empty(*bytes)) continue;
    gids.push_back({*index, *bytes,
                    files.text_or(port + "/gid_attrs/types/" + name, "") == "RoCE v2",
                    files.text_or(port + "/gid_attrs/ndevs/" + name, "")});
  }
  std::ranges::sort(gids, {}, &Gid::index);
  return gids;
}

void read_counters(const Files& files, const std::string& folder,
                   std::map<std::string, uint64_t>& counters) {
  for (const std::string& name : files.names(folder)) {
    const auto count = files.number<uint64_t>(folder + "/" + name);
    if (count) counters[name] = *count;
  }
}

Port read_port(const Files& files, const std::string& device, int number) {
  const std::string at = kDevices + device + "/ports/" + std::to_string(number);
  Port port{.number = number,
            .state = behind_colon(files.text_or(at + "/state", "unknown")),
            .link_layer = files.text_or(at + "/link_layer", "unknown"),
            .rate = files.text_or(at + "/rate", "")};
  port.gids = read_gids(files, at);
  read_counters(files, at + "/counters", port.counters);
  read_counters(files, at + "/hw_counters", port.counters);
  return port;
}

// Returns the network interface of the device, or "" if none is found. Looks in the file `parent`
// (Soft-RoCE), then in the GID tables, then in the folder device/net (network cards).
std::string interface_of(const Files& files, const RdmaDevice& device) {
  const std::string at = kDevices + device.name;
  if (const auto parent = files.text(at + "/parent"); parent && !parent->empty()) return *parent;
  for (const Port& port : device.ports) {
    for (const Gid& gid : port.gids) {
      if (!gid.interface.empty()) return gid.interface;
    }
  }
  const auto beside = files.names(at + "/device/net");
  return beside.empty() ? "" : beside.front();
}

std::optional<DeviceNode> node_of(const Files& files, const std::string& device) {
  for (const std::string& name : files.names(kNodes)) {
    if (files.text_or(kNodes + name + "/ibdev", "") != device) continue;
    DeviceNode node{.path = "/dev/infiniband/" + name};
    struct stat info {};
    if (stat(files.path(node.path).c_str(), &info) != 0) return node;
    node.present = true;
    node.mode = info.st_mode & 07777;
    node.uid = info.st_uid;
    node.gid = info.st_gid;
    node.group = account_name(files, "/etc/group", info.st_gid);
    return node;
  }
  return std::nullopt;
}

// Reads whether ECN is enabled. Only NVIDIA's own mlx5 driver has the files for this:
// ecn/roce_np/enable/PRIORITY and ecn/roce_rp/enable/PRIORITY.
void read_ecn(const Files& files, Interface& interface) {
  const std::string at = kInterfaces + interface.name + "/ecn";
  if (!files.exists(at)) return;
  interface.ecn_at = at;
  for (const char* side : {"/roce_np", "/roce_rp"}) {
    const std::string enable = at + side + "/enable";
    const auto priorities = files.names(enable);
    interface.ecn_enabled &= std::ranges::any_of(priorities, [&](const std::string& priority) {
      return files.text_or(enable + "/" + priority, "0") == "1";
    });
  }
}

}  // namespace

std::vector<RdmaDevice> read_devices(const Files& files) {
  const std::map<std::string, int> numa_nodes = read_rdma_device_nodes(files.path(""));
  std::vector<RdmaDevice> devices;
  for (const std::string& name : files.names(kDevices)) {
    const std::string at = kDevices + name;
    RdmaDevice device{.name = name,
                      .node_type = behind_colon(files.text_or(at + "/node_type", ""))};
    device.numa_node = numa_nodes.at(name);
    for (const std::string& port : files.names(at + "/ports")) {
      const auto number = parse_number<int>(std::string_view(port));
      if (number) device.ports.push_back(read_port(files, name, *number));
    }
    std::ranges::sort(device.ports, {}, &Port::number);
    device.interface = interface_of(files, device);
    device.node = node_of(files, name);
    device.traffic_class = files.text_or(at + "/tc/1/traffic_class", "");
    devices.push_back(std::move(device));
  }
  return devices;
}

std::vector<Interface> read_interfaces(const Files& files) {
  constexpr unsigned kUp = 1;  // IFF_UP
  std::vector<Interface> interfaces;
  for (const std::string& name : files.names(kInterfaces)) {
    const std::string at = kInterfaces + name;
    // An entry of /sys/class/net that has no MTU is not an interface.
    const auto mtu = files.number<uint64_t>(at + "/mtu");
    if (name == "lo" || !mtu) continue;
    Interface interface {
      .name = name, .mtu = *mtu
    };
    const std::string flags = files.text_or(at + "/flags", "0x0");
    if (flags.starts_with("0x")) {
      const auto bits = parse_number<unsigned>(std::string_view(flags).substr(2), 16);
      interface.up = (bits.value_or(0) & kUp) != 0;
    }
    interface.carrier = files.text_or(at + "/carrier", "0") == "1";
    interface.driver = files.link_name(at + "/device/driver");
    read_ecn(files, interface);
    interfaces.push_back(std::move(interface));
  }
  return interfaces;
}

}  // namespace hat::doctor
