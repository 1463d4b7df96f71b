// SPDX-License-Identifier: Apache-2.0
// bench/dds/verbs_dds_test.cc: tests the distributed queue and hash table, and the measurement of
// costs, between the lab's two Soft-RoCE devices (tests/lab/devices.sh).
#include <gtest/gtest.h>

#include "bench/dds/conformance.h"
#include "engine/costs/measure.h"
#include "engine/fabric/verbs/verbs_fabric.h"

namespace hat::bench {
namespace {

using namespace std::chrono_literals;

template <const char* Device>
Result<std::unique_ptr<engine::Fabric>> open_device() {
  HAT_TRY(std::unique_ptr<engine::VerbsFabric> fabric,
          engine::open_verbs_fabric({.device = Device}));
  return fabric;
}
constexpr char kFirst[] = "rxe1";
constexpr char kSecond[] = "rxe2";

INSTANTIATE_TEST_SUITE_P(Verbs, DdsConformance,
                         testing::Values(Ground{.name = "verbs",
                                                .open_owner = &open_device<kSecond>,
                                                .open_client = &open_device<kFirst>,
                                                .operations = 16}));

TEST(VerbsCosts, AreMeasuredBetweenTwoDevices) {
  const auto here = *open_device<kFirst>();
  const auto there = *open_device<kSecond>();
  const auto target = *engine::Target::create(*there, {.memory_bytes = 1 << 20});
  const auto initiator = *engine::Initiator::create(*here, {});
  const auto card = target->add(initiator->card());
  ASSERT_TRUE(card) << card.error().message;
  ASSERT_TRUE(initiator->connect(*card));
  Result<void> answered;
  std::thread other([&] { answered = engine::answer_costs(*target, 60s); });
  const auto costs = engine::measure_costs(*initiator, {.transfer_bytes = {8, 65536},
                                                        .message_bytes = {8, 4096},
                                                        .copy_bytes = {4096},
                                                        .each = 1ms});
  other.join();
  ASSERT_TRUE(costs) << costs.error().message;
  ASSERT_TRUE(answered) << answered.error().message;
  EXPECT_EQ(costs->no_calls, "");
  EXPECT_EQ(costs->fabric, "verbs");
  EXPECT_GT(costs->compare_swap_ns, 0);
  EXPECT_GT(costs->fetch_add_ns, 0);
  for (const auto& sized : {costs->put, costs->get, costs->message, costs->registration,
                            costs->pushed_calls, costs->fetched_calls}) {
    ASSERT_FALSE(sized.empty());
    for (const SizedCost& cost : sized) EXPECT_GT(cost.ns, 0) << cost.bytes;
  }
}

}  // namespace
}  // namespace hat::bench
