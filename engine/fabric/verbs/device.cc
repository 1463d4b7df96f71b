// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/verbs/device.h"

#include <fcntl.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <vector>

#include "engine/fabric/verbs/gid.h"

namespace hat::engine::verbs {
namespace {

constexpr const char* kWithoutDevice =
    "; `ibv_devices` lists those present, `fabric: tcp` needs none";

GidBytes bytes_of(const ibv_gid& gid) {
  GidBytes bytes;
  std::copy_n(gid.raw, bytes.size(), bytes.begin());
  return bytes;
}

int rank(const ibv_gid_entry& entry) {
  return gid_rank(bytes_of(entry.gid), entry.gid_type == IBV_GID_TYPE_ROCE_V2);
}

const char* type_text(uint32_t type) {
  switch (type) {
    case IBV_GID_TYPE_ROCE_V2:
      return "RoCE v2";
    case IBV_GID_TYPE_ROCE_V1:
      return "RoCE v1";
    default:
      return "InfiniBand";
  }
}

// Returns true if the device can make an address handle from `entry`, an entry of the GID table. It
// cannot if, for example, the GID belongs to another container.
bool proves_usable(ibv_context& context, uint8_t port, const ibv_gid_entry& entry) {
  const Owned<ibv_pd, ibv_dealloc_pd> domain(ibv_alloc_pd(&context));
  if (!domain) return false;
  ibv_ah_attr attributes{};
  attributes.is_global = 1;
  attributes.port_num = port;
  attributes.grh.dgid = entry.gid;
  attributes.grh.sgid_index = static_cast<uint8_t>(entry.gid_index);
  attributes.grh.hop_limit = 255;
  const Owned<ibv_ah, ibv_destroy_ah> handle(ibv_create_ah(domain.get(), &attributes));
  return handle != nullptr;
}

std::vector<ibv_gid_entry> gids_of(ibv_context& context, uint8_t port) {
  std::vector<ibv_gid_entry> of_port;
  std::array<ibv_gid_entry, 256> entries;
  const ssize_t count = ibv_query_gid_table(&context, entries.data(), entries.size(), 0);
  for (ssize_t i = 0; i < count; ++i) {
    const ibv_gid_entry& entry = entries[static_cast<size_t>(i)];
    if (entry.port_num == port) of_port.push_back(entry);
  }
  return of_port;
}

Result<void> choose_gid(Device& device, int wanted) {
  std::vector<ibv_gid_entry> entries = gids_of(*device.context, device.port);
  const auto place = [&] { return device.name + ", port " + std::to_string(device.port); };
  if (wanted >= 0) {
    const auto found =
        std::ranges::find(entries, static_cast<uint32_t>(wanted), &ibv_gid_entry::gid_index);
    if (found == entries.end()) {
      return fail(ErrorCode::kNotFound, place() + ": it has no GID index " +
                                            std::to_string(wanted) +
                                            "; `ibv_devinfo -v` lists them");
    }
    device.gid_index = wanted;
    device.gid = found->gid;
    device.why += "; GID index as configured";
    return {};
  }
  std::ranges::stable_sort(entries, std::ranges::greater(), rank);
  for (const ibv_gid_entry& entry : entries) {
    if (rank(entry) == 0) break;
    if (!proves_usable(*device.context, device.port, entry)) continue;
    device.gid_index = static_cast<int>(entry.gid_index);
    device.gid = entry.gid;
    device.why += std::string("; the best GID of which an address handle can be made: ") +
                  type_text(entry.gid_type) + ", " + gid_text(bytes_of(entry.gid));
    return {};
  }
  return fail(ErrorCode::kNotFound, place() + ": none of its " + std::to_string(entries.size()) +
                                        " GIDs can be used: has its network interface an address?");
}

// Chooses port `wanted`, or the first active port if `wanted` is 0.
Result<void> choose_port(Device& device, uint8_t wanted) {
  ibv_device_attr attributes{};
  if (ibv_query_device(device.context.get(), &attributes) != 0) {
    return fail(ErrorCode::kNotFound,
                device.name + ": it cannot be queried: " + std::strerror(errno));
  }
  for (uint8_t port = 1; port <= attributes.phys_port_cnt; ++port) {
    if (wanted != 0 && port != wanted) continue;
    ibv_port_attr found{};
    if (ibv_query_port(device.context.get(), port, &found) != 0) continue;
    if (found.state != IBV_PORT_ACTIVE) continue;
    constexpr int kAtomicsOut = 16;  // a higher limit would not make transfers faster
    device.atomics_out = static_cast<uint8_t>(
        std::min({kAtomicsOut, attributes.max_qp_rd_atom, attributes.max_qp_init_rd_atom}));
    device.port = port;
    device.port_attributes = found;
    return {};
  }
  return fail(ErrorCode::kNotFound,
              device.name + ": " +
                  (wanted != 0 ? "port " + std::to_string(wanted) + " is not active"
                               : "no port is active") +
                  "; `rdma link` shows the ports' states");
}

Result<Device> open_one(ibv_device* found, const VerbsOptions& options) {
  Device device;
  device.name = ibv_get_device_name(found);
  device.context.reset(ibv_open_device(found));
  if (!device.context) {
    return fail(ErrorCode::kDenied, device.name + ": it cannot be opened: " + std::strerror(errno) +
                                        "; may this user open /dev/infiniband/uverbs*?");
  }
  HAT_TRY_VOID(choose_port(device, options.port));
  device.why =
      options.device.empty() ? "the first device with an active port" : "the device as configured";
  if (device.by_gid()) HAT_TRY_VOID(choose_gid(device, options.gid_index));
  const int flags = fcntl(device.context->async_fd, F_GETFL);
  fcntl(device.context->async_fd, F_SETFL, flags | O_NONBLOCK);
  return device;
}

}  // namespace

unsigned access_flags(RemoteAccess access) {
  unsigned flags = IBV_ACCESS_LOCAL_WRITE;
  if (access.write) flags |= IBV_ACCESS_REMOTE_WRITE;
  if (access.read) flags |= IBV_ACCESS_REMOTE_READ;
  if (access.atomic) flags |= IBV_ACCESS_REMOTE_ATOMIC;
  return flags;
}

std::string Device::describe() const {
  std::string text = name + ", port " + std::to_string(port);
  if (by_gid()) text += ", GID index " + std::to_string(gid_index);
  return text + ": " + why;
}

Result<Device> open_device(const VerbsOptions& options) {
  int count = 0;
  const Owned<ibv_device*, ibv_free_device_list> devices(ibv_get_device_list(&count));
  if (!devices || count == 0)
    return fail(ErrorCode::kNotFound, std::string("there is no RDMA device") + kWithoutDevice);
  std::string reasons;
  for (int i = 0; i < count; ++i) {
    ibv_device* found = devices.get()[i];
    const std::string name = ibv_get_device_name(found);
    if (!options.device.empty() && name != options.device) continue;
    auto device = open_one(found, options);
    if (device) return device;
    reasons += (reasons.empty() ? "" : "; ") + device.error().message;
  }
  if (reasons.empty()) {
    return fail(ErrorCode::kNotFound,
                "there is no RDMA device named '" + options.device + "'" + kWithoutDevice);
  }
  return fail(ErrorCode::kNotFound, "no RDMA device can be used: " + reasons);
}

}  // namespace hat::engine::verbs

namespace hat::engine {

std::vector<DeviceReport> probe_devices(const VerbsOptions& options) {
  int count = 0;
  const Owned<ibv_device*, ibv_free_device_list> devices(ibv_get_device_list(&count));
  std::vector<DeviceReport> reports;
  for (int i = 0; devices && i < count; ++i) {
    DeviceReport& report = reports.emplace_back();
    report.device = ibv_get_device_name(devices.get()[i]);
    const bool meant = options.device.empty() || options.device == report.device;
    const auto device = verbs::open_one(devices.get()[i], meant ? options : VerbsOptions{});
    report.opens = device || device.error().code != ErrorCode::kDenied;
    report.usable = device.has_value();
    report.detail = device ? device->describe() : device.error().message;
    if (!device) continue;
    report.port = device->port;
    if (device->by_gid()) report.gid_index = device->gid_index;
    report.packet_bytes = 128u << device->port_attributes.active_mtu;  // IBV_MTU_256 is 1
  }
  return reports;
}

}  // namespace hat::engine
