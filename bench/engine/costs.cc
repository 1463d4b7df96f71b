// SPDX-License-Identifier: Apache-2.0
// bench/engine/costs.cc: measures the time of a fabric's operations (put, get, atomics, messages),
// as in RDMA vs. RPC (Brock et al.), Table I and Figure 3.
#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "base/rounded.h"
#include "bench/engine/measure.h"
#include "bench/engine/two.h"
#include "engine/costs/measure.h"
#include "engine/fabric/sleep.h"

namespace hat::bench {
namespace {

// Exchanges cards (connection data) with the other process over `wire`, and measures.
void measuring_side(const Settings& settings, const Wire& wire, uint32_t bytes) {
  const auto fabric = must(open_fabric(settings.fabric, false));
  const auto initiator = must(engine::Initiator::create(*fabric, {}));
  wire.exchange(initiator->card());
  must(initiator->connect(wire.exchange(engine::CostCard{})));
  const engine::MeasureOptions options{.transfer_bytes = {bytes},
                                       .message_bytes = {bytes},
                                       .registration_bytes = {1 << 20, 16 << 20},
                                       .copy_bytes = {},
                                       .call_bytes = {},
                                       .each = std::chrono::duration_cast<std::chrono::nanoseconds>(
                                           std::chrono::duration<double>(settings.seconds / 8))};
  const ComponentCosts costs = must(engine::measure_costs(*initiator, options));
  if (costs.registration.size() < options.registration_bytes.size()) {
    must(Result<void>(
        fail(ErrorCode::kExhausted,
             "cannot register 16 MiB or less: raise the limit on locked memory (`ulimit -l`)")));
  }
  const auto us = [](double ns) { return rounded(ns / 1000, 3); };
  const nlohmann::ordered_json result = {
      {"measurement", "costs"},
      {"fabric", settings.fabric},
      {"bytes", bytes},
      {"put_us", us(costs.put.front().ns)},
      {"get_us", us(costs.get.front().ns)},
      {"compare_swap_us", us(costs.compare_swap_ns)},
      {"fetch_add_us", us(costs.fetch_add_ns)},
      {"message_us", us(costs.message.front().ns)},
      {"message_with_wake_up_us", us(costs.message.front().ns + costs.wake_up_ns)},
      {"register_1_mib_us", us(costs.registration.front().ns)},
      {"register_16_mib_us", us(costs.registration.back().ns)}};
  std::puts(result.dump().c_str());
}

void answering_side(const Settings& settings, const Wire& wire) {
  const auto fabric = must(open_fabric(settings.fabric, true));
  const auto target = must(engine::Target::create(*fabric, {}));
  const auto theirs = wire.exchange(engine::CostCard{});
  wire.exchange(must(target->add(theirs)));
  must(engine::answer_costs(*target, std::chrono::seconds(60)));
  while (!wire.ended()) engine::sleep_on({fabric->event_fd()}, std::chrono::milliseconds(50));
}

}  // namespace

void measure_costs(const Settings& settings) {
  const auto bytes = static_cast<uint32_t>(std::clamp<size_t>(settings.bytes, 8, 64));
  run_two([&](const Wire& wire) { measuring_side(settings, wire, bytes); },
          [&](const Wire& wire) { answering_side(settings, wire); });
}

}  // namespace hat::bench
