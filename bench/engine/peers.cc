// SPDX-License-Identifier: Apache-2.0
// bench/engine/peers.cc: measures what each peer with a lane costs: pinned memory, objects of the
// RDMA device, and time to set the peer's domain and lane up.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/rounded.h"
#include "bench/engine/measure.h"
#include "bench/engine/two.h"
#include "engine/memory/need.h"
#include "engine/rdma/lane_memory.h"
#include "engine/rdma/poller.h"
#include "engine/rdma/rdma_lane.h"

namespace hat::bench {
namespace {

using engine::Arena;
using engine::CompletionRouter;
using engine::Fabric;
using engine::Poller;
using engine::RdmaLane;
using engine::RdmaLaneOptions;

struct NoEvents final : engine::LaneEvents {
  void on_frame(const engine::FrameHeader&, engine::Bytes) override {}
  void on_down(const std::string&) override {}
};

RdmaLaneOptions options_of(const Settings& settings) {
  const engine::Protocol& protocol = *settings.protocol;
  RdmaLaneOptions options;
  options.out = {.leg = protocol.request, .beyond = protocol.beyond};
  options.in = {.leg = protocol.response, .beyond = protocol.beyond};
  return options;
}

// The parts of an engine::RdmaDomain for one peer, and one lane.
struct Peer {
  // Divides `bytes` and lets them grow as hatrpcd does (daemon/process/rdma.cc).
  Peer(Fabric& device, const std::array<std::shared_ptr<CompletionRouter>, 2>& routers,
       const RdmaLaneOptions& options, size_t bytes)
      : fabric(must(device.open_domain())) {
    const size_t control = bytes / 9;
    arena = must(
        Arena::create(*fabric, {.bytes = {4 * control, 4 * control, control}, .step = 1 << 20}));
    const auto receives = static_cast<uint32_t>(
        std::min<size_t>(engine::PollerOptions{}.receives_max,
                         control / engine::kReceiveBytes + Poller::kReceivesPerBlock));
    for (size_t i = 0; i < routers.size(); ++i) {
      pollers[i] = must(Poller::create(*fabric, *arena, routers[i], {.receives_max = receives}));
    }
    lane = must(RdmaLane::create(*pollers[0], options, events));
  }

  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Arena> arena;
  std::array<std::unique_ptr<Poller>, 2> pollers;  // one for each class of lanes
  NoEvents events;
  std::unique_ptr<RdmaLane> lane;
};

// The lanes of all peers at their ends, over another device. They share one domain, so that this
// side costs little.
struct FarSide {
  explicit FarSide(const Settings& settings) : fabric(must(open_fabric(settings.fabric, true))) {
    RdmaLaneOptions options = options_of(settings);
    std::swap(options.out, options.in);
    const engine::LanePlan plan{options, settings.clients};
    arena = must(Arena::create(*fabric, engine::arena_for({&plan, 1}, 4096).arena));
    const uint32_t receives = settings.clients * engine::receives_of(options) + Poller::kSlack;
    poller = must(Poller::create(*fabric, *arena, {.receives_max = receives}));
    for (uint32_t i = 0; i < settings.clients; ++i) {
      lanes.push_back(must(RdmaLane::create(*poller, options, events)));
    }
  }

  std::unique_ptr<Fabric> fabric;
  std::unique_ptr<Arena> arena;
  std::unique_ptr<Poller> poller;
  NoEvents events;
  std::vector<std::unique_ptr<RdmaLane>> lanes;
};

// Returns how many objects of each kind the programs of this host have on the device rxe1, as the
// kernel counts them; null if the tool `rdma` does not show the device.
nlohmann::json objects_of_device() {
  std::string text;
  FILE* tool = popen("rdma -j resource show rxe1 2>/dev/null", "r");
  if (tool == nullptr) return nullptr;
  for (int c = std::fgetc(tool); c != EOF; c = std::fgetc(tool)) text += static_cast<char>(c);
  pclose(tool);
  const auto shown = nlohmann::json::parse(text, nullptr, false);
  if (!shown.is_array() || shown.empty()) return nullptr;
  nlohmann::json counts;
  for (const char* kind : {"pd", "mr", "cq", "srq", "qp"}) {
    if (shown[0].contains(kind)) counts[kind] = shown[0][kind];
  }
  return counts;
}

double milliseconds_since(std::chrono::steady_clock::time_point began) {
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - began;
  return rounded(took.count(), 3);
}

}  // namespace

void measure_peers(const Settings& settings) {
  const RdmaLaneOptions options = options_of(settings);
  const auto device = must(open_fabric(settings.fabric, false));
  FarSide far(settings);
  std::array<std::shared_ptr<CompletionRouter>, 2> routers;
  if (device->limits().shares_completions) {
    for (auto& router : routers) router = must(CompletionRouter::create(*device, 16384));
  }
  const uint64_t before = engine::this_host_memory().pinned;
  const nlohmann::json objects_before = objects_of_device();
  std::vector<std::unique_ptr<Peer>> peers;
  double slowest_ms = 0;
  const auto began = std::chrono::steady_clock::now();
  for (uint32_t i = 0; i < settings.clients; ++i) {
    const auto one_began = std::chrono::steady_clock::now();
    if (!device->limits().shares_completions) {
      for (auto& router : routers) router = must(CompletionRouter::create(*device, 16384));
    }
    peers.push_back(std::make_unique<Peer>(*device, routers, options, settings.bytes));
    must(peers.back()->lane->connect(far.lanes[i]->offer()));
    slowest_ms = std::max(slowest_ms, milliseconds_since(one_began));
  }
  const double took_ms = milliseconds_since(began);
  const uint64_t pinned = engine::this_host_memory().pinned - before;
  const nlohmann::json objects = objects_of_device();
  const auto removal_began = std::chrono::steady_clock::now();
  peers.clear();
  const nlohmann::ordered_json result = {
      {"measurement", "peers"},
      {"fabric", settings.fabric},
      {"peers", settings.clients},
      {"bytes_per_peer_max", settings.bytes},
      {"pinned_bytes", pinned},
      {"objects_before", objects_before},
      {"objects", objects},
      {"set_up_ms", took_ms},
      {"set_up_of_slowest_peer_ms", slowest_ms},
      {"removal_ms", milliseconds_since(removal_began)},
      {"pinned_bytes_after", engine::this_host_memory().pinned - before}};
  std::puts(result.dump().c_str());
}

}  // namespace hat::bench
