// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_devices.cc: checks each RDMA device: whether it can be opened, the states,
// addresses and packet sizes of its ports, and what its counters show about the network.
#include <algorithm>
#include <array>

#include "base/quantities.h"
#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"

namespace hat::doctor {
namespace {

constexpr const char* kNone = "no RDMA device";

// Reports a defect of a device. The finding is a failure if the configuration wants this device and
// hatrpcd can use no other (`choice` is null). Otherwise nothing needs repair: the finding is OK.
void report(const Examined& examined, const Judged& judged, const Judged* choice,
            const std::string& subject, const std::string& text, const std::string& mend,
            Findings& findings) {
  if (examined.wants_device() && judged.meant && choice == nullptr) {
    findings.fail(subject, text, mend);
  } else {
    findings.ok(subject, text + "; hatrpcd does not need it");
  }
}

std::string version_of(const Gid& gid) {
  if (!gid.roce_v2) return "RoCE v1";
  return engine::is_ipv4(gid.bytes) ? "RoCE v2 over IPv4" : "RoCE v2 over IPv6";
}

// The MTU of an interface must hold the headers of a RoCE packet (at most kRoceHeaderBytes) and its
// payload (one of kPacketBytes). Source: linux/include/rdma/ib_addr.h, iboe_get_mtu().
constexpr std::array<uint32_t, 5> kPacketBytes = {4096, 2048, 1024, 512, 256};

uint32_t packet_of(uint64_t mtu) {
  const auto fits = std::ranges::find_if(
      kPacketBytes, [&](uint32_t bytes) { return mtu >= bytes + kRoceHeaderBytes; });
  return fits == kPacketBytes.end() ? 0 : *fits;
}

// The names of counters of packets that the network lost or delivered out of order, in the drivers
// mlx5, bnxt_re and rdma_rxe, and in InfiniBand ports.
constexpr std::array kLossCounters = {
    "out_of_sequence", "packet_seq_err",    "local_ack_timeout_err", "out_of_seq_request",
    "rcvd_seq_err",    "seq_err_naks_rcvd", "to_retransmits",        "retry_exceeded_err",
    "port_rcv_errors", "symbol_error"};
constexpr std::array kPacketCounters = {"port_rcv_packets", "rcvd_pkts", "rx_pkts"};
// Counters of congestion notifications that the port sent or received; only mlx5 has them.
constexpr std::array kNotices = {"np_cnp_sent", "rp_cnp_handled"};
constexpr double kLossMax = 1e-5;  // lost packets, as a share of all packets

uint64_t counter(const Port& port, const char* name) {
  const auto found = port.counters.find(name);
  return found == port.counters.end() ? 0 : found->second;
}

void judge_congestion(const Examined& examined, const RdmaDevice& device, const Port& port,
                      Findings& findings) {
  uint64_t lost = 0;
  uint64_t packets = 0;
  uint64_t notices = 0;
  std::string named;
  for (const char* name : kLossCounters) {
    if (counter(port, name) == 0) continue;
    lost += counter(port, name);
    named +=
        (named.empty() ? "" : ", ") + std::string(name) + " " + std::to_string(counter(port, name));
  }
  for (const char* name : kPacketCounters) packets = std::max(packets, counter(port, name));
  for (const char* name : kNotices) notices += counter(port, name);
  const std::string subject = port_name(device, port);
  const bool soft = device.name.starts_with("rxe") || counter(port, "rcvd_pkts") != 0;
  const auto interface =
      std::ranges::find(examined.host.interfaces, device.interface, &Interface::name);
  if (interface != examined.host.interfaces.end() && !interface->ecn_at.empty() &&
      !interface->ecn_enabled) {
    findings.warn(subject, "ECN is off for every priority: senders learn of congestion by loss",
                  "echo 1 >" + interface->ecn_at + "/roce_np/enable/3 && echo 1 >" +
                      interface->ecn_at + "/roce_rp/enable/3   # 3: RoCE's priority");
  }
  if (static_cast<double>(lost) > kLossMax * static_cast<double>(packets)) {
    findings.warn(
        subject,
        named + " of " + count_text(static_cast<double>(packets)) +
            " packets were lost or out of order: each costs a time-out or a retransmission",
        soft ? "sysctl -w net.core.netdev_max_backlog=100000   # Soft-RoCE: the kernel's own queue"
        : port.by_gid() ? "mlnx_qos -i " + device.interface +
                              " --trust dscp --pfc 0,0,0,1,0,0,0,0   # and the same on the switch: "
                              "docs/rdma-hosts.md"
                        : "ibqueryerrors   # shows which cable");
    return;
  }
  std::string text =
      "no significant loss in " + count_text(static_cast<double>(packets)) + " packets";
  if (notices != 0) text += ", " + std::to_string(notices) + " congestion notices";
  if (port.by_gid()) {
    text += device.traffic_class.empty() ? "; hatrpcd sets traffic class 0"
                                         : "; traffic class: " + device.traffic_class;
  }
  findings.ok(subject, text);
}

void judge_gid_taken(const Examined& examined, const Judged& judged, const std::string& subject,
                     Findings& findings) {
  const Gid& gid = *judged.gid;
  const std::string text = "index " + std::to_string(gid.index) + ", " + version_of(gid) + ", " +
                           engine::gid_text(gid.bytes);
  const Gid* best = best_gid(*judged.port, -1);
  if (engine::gid_rank(gid.bytes, gid.roce_v2) > 1) {
    findings.ok(subject, text);
  } else if (best != nullptr && best->roce_v2 && examined.file.node.fabric.gid_index >= 0) {
    const std::string index = std::to_string(best->index);
    findings.warn(
        subject, text + ", as configured: routers do not forward it; index " + index + " is better",
        "editor " + examined.file.path + "   # fabric.gid_index: " + index +
            ", or without it; then systemctl restart hatrpcd");
  } else if (best != nullptr && best->roce_v2) {
    findings.warn(subject,
                  text + ": routers do not forward it; index " + std::to_string(best->index) +
                      " is better, but no address handle can be made for it",
                  "ip addr show dev " + judged.device->interface +
                      "   # check that the GID's address belongs to this network namespace");
  } else {
    findings.warn(subject,
                  text +
                      ": routers do not forward it, and it reaches only peers on the same "
                      "Ethernet; the port has no RoCE v2 GID",
                  "ip addr add ADDRESS/PREFIX dev " + judged.device->interface +
                      "   # an IPv4 address adds one, if the card supports RoCE v2");
  }
}

}  // namespace

void check_devices(const Examined& examined, Findings& findings) {
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (judged.empty()) findings.ok("", kNone);
  for (const Judged& one : judged) {
    const RdmaDevice& device = *one.device;
    if (one.obstacle == Obstacle::kNode || one.obstacle == Obstacle::kProof) {
      report(examined, one, choice, device.name, one.why_not, one.mend, findings);
    } else if (device.node_type == "RNIC" && &one == choice && examined.wants_device()) {
      findings.fail(device.name,
                    "hatrpcd would use this device, but it is an iWARP device, which has neither "
                    "InfiniBand nor RoCE addresses",
                    "rdma link show   # then set another fabric.device, or fabric: tcp, in " +
                        examined.file.path);
    } else {
      findings.ok(device.name,
                  device.node->path + ", which " + examined.opener().user + " may open");
    }
  }
}

void check_ports(const Examined& examined, Findings& findings) {
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (judged.empty()) findings.ok("", kNone);
  for (const Judged& one : judged) {
    for (const Port& port : one.device->ports) {
      const std::string text = port.link_layer + ", " + port.state +
                               (port.rate.empty() ? "" : ", " + port.rate) +
                               (one.device->interface.empty() ? "" : ", " + one.device->interface);
      if (!port.active() && one.obstacle == Obstacle::kPort) {
        report(examined, one, choice, port_name(*one.device, port), text, one.mend, findings);
      } else {
        findings.ok(port_name(*one.device, port), text);
      }
    }
  }
}

void check_gids(const Examined& examined, Findings& findings) {
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  bool any = false;
  for (const Judged& one : judged) {
    if (one.port == nullptr || !one.port->by_gid()) continue;
    any = true;
    const std::string subject = port_name(*one.device, *one.port);
    if (one.obstacle == Obstacle::kGid) {
      report(examined, one, choice, subject, one.why_not, one.mend, findings);
    } else if (one.gid != nullptr) {
      judge_gid_taken(examined, one, subject, findings);
    }
  }
  if (!any) findings.ok("", "no active RoCE port, so no GID is used");
}

void check_mtu(const Examined& examined, Findings& findings) {
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (choice == nullptr || choice->port == nullptr) return findings.ok("", "no usable port");
  const std::string subject = port_name(*choice->device, *choice->port);
  const std::string asked =
      choice->packet_bytes == 0 ? "" : std::to_string(choice->packet_bytes) + " bytes a packet";
  if (!choice->port->by_gid()) {
    if (choice->packet_bytes != 0 && choice->packet_bytes < 2048) {
      return findings.warn(
          subject, asked + ": InfiniBand can carry 2048 or 4096",
          "smpquery portinfo -D 0   # the subnet manager's partitions.conf: mtu=5");
    }
    return findings.ok(subject, asked.empty() ? "set by the subnet manager" : asked);
  }
  const auto interface =
      std::ranges::find(examined.host.interfaces, choice->device->interface, &Interface::name);
  if (interface == examined.host.interfaces.end()) {
    return findings.ok(subject,
                       asked.empty() ? "its network interface cannot be seen from here" : asked);
  }
  const uint32_t packet =
      choice->packet_bytes != 0 ? choice->packet_bytes : packet_of(interface->mtu);
  const std::string text = std::to_string(packet) + " bytes a packet, " + interface->name +
                           " has MTU " + std::to_string(interface->mtu);
  if (packet == kPacketBytes.front()) return findings.ok(subject, text);
  findings.warn(subject, text + ": with MTU 4200, RoCE packets carry 4096 bytes",
                "ip link set dev " + interface->name +
                    " mtu 4200   # on both hosts, and no less on each switch between them");
}

void check_congestion(const Examined& examined, Findings& findings) {
  bool any = false;
  for (const RdmaDevice& device : examined.host.devices) {
    for (const Port& port : device.ports) {
      if (!port.active()) continue;
      any = true;
      judge_congestion(examined, device, port, findings);
    }
  }
  if (!any) findings.ok("", "no active port");
}

}  // namespace hat::doctor
