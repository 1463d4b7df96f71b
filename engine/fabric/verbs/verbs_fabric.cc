// SPDX-License-Identifier: Apache-2.0
#include "engine/fabric/verbs/verbs_fabric.h"

#include <fcntl.h>
#include <sys/resource.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/quantities.h"
#include "base/system_error.h"
#include "engine/fabric/verbs/objects.h"

namespace hat::engine {
namespace verbs {
namespace {

std::unexpected<Error> failed(const Device& device, const std::string& what, int error) {
  return fail_errno(device.name + ": " + what, error);
}

// Returns text for the error of a failed memory registration: the likely reason (the limit on
// locked memory, or a lack of memory keys) and what to do.
std::string why_not_registered(size_t bytes) {
  rlimit limit{};
  getrlimit(RLIMIT_MEMLOCK, &limit);
  if (limit.rlim_cur == RLIM_INFINITY) {
    return "; the device may be out of memory keys: run 'rdma resource show' to see which programs "
           "hold them";
  }
  return "; this process may lock at most " + size_text(limit.rlim_cur) + ", and this region has " +
         size_text(bytes) + ": raise LimitMEMLOCK (systemd) or `ulimit -l`";
}

Atomicity from_verbs(ibv_atomic_cap capability) {
  switch (capability) {
    case IBV_ATOMIC_HCA:
      return Atomicity::kDevice;
    case IBV_ATOMIC_GLOB:
      return Atomicity::kHost;
    default:
      return Atomicity::kNone;
  }
}

class DeviceFabric final : public VerbsFabric {
 public:
  // Opens a fabric with a new protection domain. `is_first` is true for the fabric that opened the
  // device, which reports the device's events.
  static Result<std::unique_ptr<DeviceFabric>> open(std::shared_ptr<const Device> device,
                                                    bool is_first) {
    ibv_pd* domain = ibv_alloc_pd(device->context.get());
    if (domain == nullptr) return failed(*device, "cannot create a protection domain", errno);
    return std::unique_ptr<DeviceFabric>(new DeviceFabric(std::move(device), domain, is_first));
  }

  std::string_view name() const override { return "verbs"; }
  std::string reach() const override {
    return device_.by_gid() ? "verbs ethernet" : "verbs infiniband";
  }
  std::string describe() const override { return device_.describe(); }
  std::string device() const override { return device_.name; }

  FabricLimits limits() const override {
    ibv_device_attr attributes{};
    ibv_query_device(device_.context.get(), &attributes);
    // A size that every device supports: libibverbs has no query for the limit of a device.
    constexpr uint32_t kInlineOfAll = 64;
    return {.inline_bytes_max = kInlineOfAll,
            .send_entries_max = static_cast<uint32_t>(attributes.max_qp_wr),
            .receive_entries_max = static_cast<uint32_t>(attributes.max_srq_wr),
            .completion_entries_max = static_cast<uint32_t>(attributes.max_cqe),
            .reads_max = device_.atomics_out,
            .atomics = from_verbs(attributes.atomic_cap),
            .regions_max = static_cast<uint64_t>(attributes.max_mr),
            .shares_completions = true};
  }

  Result<std::unique_ptr<Fabric>> open_domain() override { return open(opened_, false); }

  Result<std::unique_ptr<MemoryRegion>> register_memory(const SharedMemory& memory,
                                                        RemoteAccess access) override {
    return register_bytes(memory.bytes(), access);
  }

  Result<std::unique_ptr<MemoryRegion>> register_own(std::span<std::byte> memory) override {
    return register_bytes(memory, {});
  }

  Result<std::unique_ptr<CompletionQueue>> create_completion_queue(uint32_t entries) override {
    Owned<ibv_comp_channel, ibv_destroy_comp_channel> channel(
        ibv_create_comp_channel(device_.context.get()));
    if (!channel) return failed(device_, "cannot create a completion channel", errno);
    fcntl(channel->fd, F_SETFL, fcntl(channel->fd, F_GETFL) | O_NONBLOCK);
    ibv_cq* queue =
        ibv_create_cq(device_.context.get(), static_cast<int>(entries), nullptr, channel.get(), 0);
    if (queue == nullptr) {
      return failed(device_,
                    "cannot create a completion queue of " + std::to_string(entries) + " entries",
                    errno);
    }
    return std::make_unique<VerbsCompletionQueue>(channel.release(), queue);
  }

  Result<std::unique_ptr<ReceiveQueue>> create_receive_queue(uint32_t entries) override {
    ibv_srq_init_attr attributes{};
    attributes.attr.max_wr = entries;
    attributes.attr.max_sge = kSegmentsMax;
    ibv_srq* queue = ibv_create_srq(domain_.get(), &attributes);
    if (queue == nullptr) {
      return failed(device_,
                    "cannot create a receive queue of " + std::to_string(entries) + " entries",
                    errno);
    }
    return std::make_unique<VerbsReceiveQueue>(queue, entries);
  }

  Result<std::unique_ptr<QueuePair>> create_queue_pair(const QueuePairOptions& options) override {
    return VerbsQueuePair::create(device_, *domain_, options);
  }

  int event_fd() const override { return is_first_ ? device_.context->async_fd : -1; }
  std::optional<FabricEvent> next_event() override;

 private:
  DeviceFabric(std::shared_ptr<const Device> device, ibv_pd* domain, bool is_first)
      : opened_(std::move(device)), device_(*opened_), domain_(domain), is_first_(is_first) {}
  Result<std::unique_ptr<MemoryRegion>> register_bytes(std::span<std::byte> bytes,
                                                       RemoteAccess access) {
    ibv_mr* region = ibv_reg_mr(domain_.get(), bytes.data(), bytes.size(), access_flags(access));
    if (region == nullptr) {
      const int error = errno;
      auto refusal = failed(device_, size_text(bytes.size()) + " cannot be registered", error);
      refusal.error().message += why_not_registered(bytes.size());
      return refusal;
    }
    return std::make_unique<VerbsRegion>(bytes, region);
  }

  const std::shared_ptr<const Device> opened_;
  const Device& device_;  // *opened_
  const Owned<ibv_pd, ibv_dealloc_pd> domain_;
  const bool is_first_;
};

// Returns the kind of a device's event, or nullopt for an event that the engine does not need.
std::optional<FabricEvent::Kind> kind_of(ibv_event_type type) {
  switch (type) {
    case IBV_EVENT_QP_FATAL:
    case IBV_EVENT_QP_REQ_ERR:
    case IBV_EVENT_QP_ACCESS_ERR:
      return FabricEvent::Kind::kQueuePairError;
    case IBV_EVENT_SRQ_ERR:
      return FabricEvent::Kind::kReceiveQueueError;
    case IBV_EVENT_CQ_ERR:
    case IBV_EVENT_DEVICE_FATAL:
      return FabricEvent::Kind::kDeviceGone;
    case IBV_EVENT_PORT_ERR:
      return FabricEvent::Kind::kPortDown;
    case IBV_EVENT_PORT_ACTIVE:
      return FabricEvent::Kind::kPortUp;
    case IBV_EVENT_GID_CHANGE:
    case IBV_EVENT_LID_CHANGE:
      return FabricEvent::Kind::kAddressesChanged;
    default:
      return std::nullopt;
  }
}

std::optional<FabricEvent> DeviceFabric::next_event() {
  if (!is_first_) return std::nullopt;
  ibv_async_event event{};
  while (ibv_get_async_event(device_.context.get(), &event) == 0) {
    const auto kind = kind_of(event.event_type);
    const bool of_a_port = kind == FabricEvent::Kind::kPortDown ||
                           kind == FabricEvent::Kind::kPortUp ||
                           kind == FabricEvent::Kind::kAddressesChanged;
    const bool elsewhere = of_a_port && event.element.port_num != device_.port;
    FabricEvent reported{.detail = device_.name + ": " + ibv_event_type_str(event.event_type)};
    if (kind == FabricEvent::Kind::kQueuePairError) reported.queue_pair = event.element.qp->qp_num;
    if (kind == FabricEvent::Kind::kReceiveQueueError) {
      reported.receive_queue = static_cast<VerbsReceiveQueue*>(event.element.srq->srq_context);
    }
    ibv_ack_async_event(&event);  // without this call, ibv_destroy_qp() would block
    if (!kind || elsewhere) continue;
    reported.kind = *kind;
    return reported;
  }
  return std::nullopt;
}

}  // namespace
}  // namespace verbs

Result<std::unique_ptr<VerbsFabric>> open_verbs_fabric(const VerbsOptions& options) {
  HAT_TRY(verbs::Device device, verbs::open_device(options));
  return verbs::DeviceFabric::open(std::make_shared<const verbs::Device>(std::move(device)), true);
}

}  // namespace hat::engine
