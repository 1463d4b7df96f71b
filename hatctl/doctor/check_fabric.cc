// SPDX-License-Identifier: Apache-2.0
// hatctl/doctor/check_fabric.cc: checks which fabric hatrpcd uses for RDMA lanes, or why it uses
// none, and whether the kernel modules that provide RDMA devices are loaded.
#include <algorithm>
#include <array>

#include "hatctl/doctor/checks.h"
#include "hatctl/doctor/device_rule.h"

namespace hat::doctor {
namespace {

// A driver of network cards, and the kernel module that makes RDMA devices of these cards.
struct RdmaModule {
  std::string_view driver;
  std::string_view module;
};
constexpr std::array kRdmaModules = {
    RdmaModule{"mlx5_core", "mlx5_ib"}, RdmaModule{"mlx4_core", "mlx4_ib"},
    RdmaModule{"bnxt_en", "bnxt_re"},   RdmaModule{"ice", "irdma"},
    RdmaModule{"qede", "qedr"},         RdmaModule{"hns3", "hns_roce_hw_v2"},
};

// A module that is not loaded although a card of the host needs it, and the interface of that card.
struct Missing {
  std::string module;
  std::string interface;
};
std::optional<Missing> missing_module(const Host& host) {
  for (const Interface& interface : host.interfaces) {
    const auto row = std::ranges::find(kRdmaModules, interface.driver, &RdmaModule::driver);
    if (row == kRdmaModules.end() || host.modules.contains(std::string(row->module))) continue;
    return Missing{std::string(row->module), interface.name};
  }
  return std::nullopt;
}

std::string load(const std::string& module) {
  return "modprobe " + module + " && echo " + module + " >/etc/modules-load.d/hatrpcd.conf";
}

// Returns the commands to try RDMA with Soft-RoCE, for a host without RDMA devices for which no
// repair is known.
std::string soft_roce(const Host& host) {
  const auto up = std::ranges::find_if(host.interfaces, &Interface::up);
  const std::string name = up == host.interfaces.end() ? "INTERFACE" : up->name;
  return "modprobe rdma_rxe && rdma link add rxe0 type rxe netdev " + name +
         "   # Soft-RoCE, to try RDMA without a card: docs/rdma-hosts.md";
}

void judge_without_devices(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  const FabricConfig& fabric = examined.file.node.fabric;
  const bool required = fabric.kind == FabricKind::kVerbs;
  const std::string what = required ? "this host has no RDMA device, and with fabric: verbs "
                                      "hatrpcd does not start without one"
                                    : "this host has no RDMA device: calls to other hosts use TCP";
  const Verdict verdict = required ? Verdict::kFail : Verdict::kWarn;
  if (const auto missing = missing_module(host)) {
    findings.add(verdict, "",
                 what + "; the network card of " + missing->interface +
                     " may become one if its kernel module is loaded",
                 load(missing->module));
    return;
  }
  if (host.devices_in_one_namespace) {
    findings.add(verdict, "",
                 what +
                     "; on this host each device belongs to one network namespace (`rdma system` "
                     "shows netns exclusive), and another namespace may have it",
                 "rdma dev set DEVICE netns NAME   # on the host, in the namespace where `rdma "
                 "dev` shows it");
    return;
  }
  if (host.container) {
    findings.add(verdict, "", what + "; this is a container, and its host may have one",
                 "rdma link show   # on the host; then docs/rdma-hosts.md, \"Containers\"");
    return;
  }
  findings.add(verdict, "", what, soft_roce(host));
}

void judge_unusable(const Examined& examined, const std::vector<Judged>& judged,
                    Findings& findings) {
  const FabricConfig& fabric = examined.file.node.fabric;
  const bool required = fabric.kind == FabricKind::kVerbs;
  const std::string but = required ? "hatrpcd will not start: " : "calls will use TCP: ";
  const auto meant = std::ranges::find_if(judged, &Judged::meant);
  if (meant == judged.end()) {
    std::string names;
    for (const Judged& one : judged) names += (names.empty() ? "" : ", ") + one.device->name;
    findings.fail("", but + "there is no device " + fabric.device + "; this host has " + names,
                  "rdma link show   # then fabric.device in " + examined.file.path);
    return;
  }
  findings.fail("", but + meant->device->name + " cannot be used: " + meant->why_not, meant->mend);
}

std::string place_of(const Judged& choice) {
  std::string text = choice.device->name;
  if (choice.port == nullptr) return text;
  text += ", port " + std::to_string(choice.port->number);
  if (choice.gid == nullptr) return text;
  return text + ", GID index " + std::to_string(choice.gid->index) + " (" +
         engine::gid_text(choice.gid->bytes) + ")";
}

void judge_running(const Examined& examined, const Judged* choice, Findings& findings) {
  if (!examined.daemon.answers()) return;
  const std::string& runs = examined.daemon.fabric;
  const std::string& kind = examined.daemon.fabric_kind;
  const bool has_no_device = kind == "loop" || kind == "none";
  if (choice != nullptr && has_no_device && examined.wants_device()) {
    findings.warn(
        "the running hatrpcd",
        "has " + runs + "; it could use a device now, but looks for devices only when it starts",
        "systemctl restart hatrpcd");
  } else if (choice == nullptr && kind == "verbs") {
    findings.warn("the running hatrpcd",
                  "has " + runs + "; after a restart it could not use an RDMA device",
                  "hatctl status   # its lanes");
  } else {
    findings.ok("the running hatrpcd", "has " + runs);
  }
}

}  // namespace

void check_fabric(const Examined& examined, Findings& findings) {
  const FabricConfig& fabric = examined.file.node.fabric;
  const auto judged = judge_devices(examined);
  const Judged* choice = chosen(judged);
  if (fabric.kind == FabricKind::kTcp) {
    findings.ok("", "fabric: tcp: all calls use TCP, and no device is used");
  } else if (fabric.kind == FabricKind::kLoop) {
    findings.ok("", "fabric: loop: RDMA lanes between daemons of this host, TCP to other hosts");
  } else if (choice != nullptr) {
    findings.ok("", "hatrpcd uses " + place_of(*choice));
  } else if (examined.host.devices.empty()) {
    judge_without_devices(examined, findings);
  } else {
    judge_unusable(examined, judged, findings);
  }
  judge_running(examined, choice, findings);
}

void check_modules(const Examined& examined, Findings& findings) {
  const Host& host = examined.host;
  if (!examined.wants_device())
    return findings.ok("", "the configuration uses no device, so no module is needed");
  if (const auto missing = missing_module(host)) {
    findings.warn(
        missing->interface,
        "its card may support RDMA, but the kernel module " + missing->module + " is not loaded",
        load(missing->module));
    return;
  }
  if (!host.devices.empty() && !host.uverbs_class) {
    findings.warn("", "ib_uverbs is not loaded: programs cannot reach the RDMA devices",
                  load("ib_uverbs"));
    return;
  }
  std::string loaded;
  for (const std::string& module : host.modules) {
    const bool ours =
        module == "ib_uverbs" || module == "rdma_rxe" ||
        std::ranges::find(kRdmaModules, module, &RdmaModule::module) != kRdmaModules.end();
    if (ours) loaded += (loaded.empty() ? "" : ", ") + module;
  }
  findings.ok("", loaded.empty() ? "no card of this host is known to need an RDMA module"
                                 : loaded + ": loaded");
}

}  // namespace hat::doctor
