// SPDX-License-Identifier: Apache-2.0
#include "hatctl/doctor/device_rule.h"

#include <algorithm>

#include "hatctl/doctor/rights.h"

namespace hat::doctor {
namespace {

constexpr mode_t kReadWrite = kMayRead | kMayWrite;

std::string mend_of_node(const DeviceNode& node, const Process& who, bool container) {
  if (container) {
    return "docker run --device=" + node.path +
           " …   # or request a device plugin's resource: docs/rdma-hosts.md";
  }
  if ((node.mode >> 3 & kReadWrite) == kReadWrite && node.gid != 0) {
    return "usermod -aG " + node.group + " " + who.user + " && systemctl restart hatrpcd";
  }
  return "echo 'SUBSYSTEM==\"infiniband_verbs\", MODE=\"0666\"' "
         ">/etc/udev/rules.d/99-hatrpcd.rules && udevadm control --reload && "
         "udevadm trigger --subsystem-match=infiniband_verbs";
}

std::string mend_of_port(const RdmaDevice& device, const Port& port, const Host& host) {
  if (!port.by_gid()) {
    if (port.state != "INIT")
      return "ibstat " + device.name + "   # check its cable and the switch's port";
    return "apt-get install opensm && systemctl enable --now opensm   # on one host, unless a "
           "switch "
           "manages the subnet";
  }
  const auto found = std::ranges::find(host.interfaces, device.interface, &Interface::name);
  if (found != host.interfaces.end() && found->up) {
    return "ethtool " + device.interface +
           "   # up, but without a link: check its cable and the switch's port";
  }
  const std::string name = device.interface.empty() ? "INTERFACE" : device.interface;
  return "ip link set dev " + name + " up";
}

const Port* choose_port(const RdmaDevice& device, uint8_t wanted) {
  for (const Port& port : device.ports) {
    if ((wanted == 0 || port.number == wanted) && port.active()) return &port;
  }
  return nullptr;
}

void judge_node(const Examined& examined, Judged& judged) {
  const RdmaDevice& device = *judged.device;
  const Host& host = examined.host;
  judged.obstacle = Obstacle::kNode;
  if (!device.node) {
    judged.why_not = "it has no /dev/infiniband/uverbs* because ib_uverbs is not loaded";
    judged.mend = "modprobe ib_uverbs && echo ib_uverbs >/etc/modules-load.d/hatrpcd.conf";
  } else if (!device.node->present) {
    judged.why_not = device.node->path + " does not exist" +
                     (host.container ? ": this container has no access to it" : "");
    judged.mend = host.container ? mend_of_node(*device.node, host.self, true)
                                 : "udevadm trigger --subsystem-match=infiniband_verbs";
  } else if (!may_open(*device.node, examined.opener())) {
    judged.why_not =
        "user " + examined.opener().user + " may not read and write " + device.node->path;
    judged.mend = mend_of_node(*device.node, examined.opener(), host.container);
  } else {
    judged.obstacle = Obstacle::kNone;
  }
}

void judge_port(const Examined& examined, const FabricConfig& fabric, Judged& judged) {
  const RdmaDevice& device = *judged.device;
  judged.port = choose_port(device, fabric.port);
  if (judged.port != nullptr) return;
  judged.obstacle = Obstacle::kPort;
  judged.why_not = fabric.port != 0 ? "port " + std::to_string(fabric.port) + " is not active"
                                    : "none of its ports is active";
  const auto meant = std::ranges::find_if(
      device.ports, [&](const Port& one) { return fabric.port == 0 || one.number == fabric.port; });
  judged.mend = meant != device.ports.end()
                    ? mend_of_port(device, *meant, examined.host)
                    : "editor " + examined.file.path + "   # fabric.port: " + device.name +
                          " has " + std::to_string(device.ports.size());
}

void judge_gid(const Examined& examined, const FabricConfig& fabric, Judged& judged) {
  const RdmaDevice& device = *judged.device;
  if (!judged.port->by_gid()) return;
  judged.gid = best_gid(*judged.port, fabric.gid_index);
  if (judged.gid != nullptr) return;
  judged.obstacle = Obstacle::kGid;
  const std::string port = "port " + std::to_string(judged.port->number);
  if (fabric.gid_index >= 0) {
    judged.why_not = port + " has no GID index " + std::to_string(fabric.gid_index);
    judged.mend = "ibv_devinfo -v -d " + device.name +
                  "   # lists them; then correct fabric.gid_index in " + examined.file.path +
                  ", or remove it";
  } else {
    const std::string name = device.interface.empty() ? "INTERFACE" : device.interface;
    judged.why_not =
        "no GID of " + port + " can be used: " + name + " has only a link-local address";
    judged.mend = "ip addr add ADDRESS/PREFIX dev " + name;
  }
}

// Applies `report` to a device that is usable according to the files in /sys. The report comes from
// the daemon's own code, and takes precedence over these files.
void judge_by_report(const engine::DeviceReport& report, const Host& host, Judged& judged) {
  const RdmaDevice& device = *judged.device;
  if (!report.usable) {
    // If the user of hatctl may not open the device, the failed report proves nothing, because the
    // daemon may have more rights.
    if (!may_open(*device.node, host.self)) return;
    judged.obstacle = Obstacle::kProof;
    judged.why_not = report.detail;
    judged.mend = !report.opens && host.container
                      ? mend_of_node(*device.node, host.self, true)
                      : "rdma link show; ibv_devinfo -v -d " + device.name;
    return;
  }
  judged.packet_bytes = report.packet_bytes;
  const auto port = std::ranges::find(device.ports, int{report.port}, &Port::number);
  if (port == device.ports.end()) return;
  judged.port = &*port;
  const auto gid = std::ranges::find(port->gids, report.gid_index, &Gid::index);
  judged.gid = gid == port->gids.end() ? nullptr : &*gid;
}

Judged judge_device(const Examined& examined, const RdmaDevice& device) {
  const FabricConfig& configured = examined.file.node.fabric;
  Judged judged{.device = &device,
                .meant = configured.device.empty() || configured.device == device.name};
  const FabricConfig fabric = judged.meant ? configured : FabricConfig{};
  judge_node(examined, judged);
  if (judged.usable()) judge_port(examined, fabric, judged);
  if (judged.usable()) judge_gid(examined, fabric, judged);
  const auto report =
      std::ranges::find(examined.reports, device.name, &engine::DeviceReport::device);
  if (judged.usable() && report != examined.reports.end()) {
    judge_by_report(*report, examined.host, judged);
  }
  return judged;
}

}  // namespace

bool may_open(const DeviceNode& node, const Process& who) {
  return permitted(node.mode, node.uid, node.gid, who, kReadWrite);
}

const Gid* best_gid(const Port& port, int wanted) {
  const Gid* best = nullptr;
  int best_rank = 0;
  for (const Gid& gid : port.gids) {
    if (gid.index == wanted) return &gid;
    const int rank = engine::gid_rank(gid.bytes, gid.roce_v2);
    if (wanted >= 0 || rank <= best_rank) continue;
    best = &gid;
    best_rank = rank;
  }
  return best;
}

std::vector<Judged> judge_devices(const Examined& examined) {
  std::vector<Judged> all;
  for (const RdmaDevice& device : examined.host.devices) {
    all.push_back(judge_device(examined, device));
  }
  // Sorts the devices in the order of libibverbs if there are reports, and otherwise by name.
  const auto place = [&](const Judged& judged) {
    return std::ranges::find(examined.reports, judged.device->name, &engine::DeviceReport::device) -
           examined.reports.begin();
  };
  std::ranges::stable_sort(all, {}, place);
  return all;
}

const Judged* chosen(const std::vector<Judged>& judged) {
  const auto found =
      std::ranges::find_if(judged, [](const Judged& one) { return one.meant && one.usable(); });
  return found == judged.end() ? nullptr : &*found;
}

std::string port_name(const RdmaDevice& device, const Port& port) {
  return device.name + " port " + std::to_string(port.number);
}

}  // namespace hat::doctor
