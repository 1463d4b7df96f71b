// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/inbound/server_binding.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

using State = ServerBinding::State;

TEST(ServerBinding, IsMovableWhileAnotherStreamMayClaimTheConnection) {
  ServerBinding binding;
  EXPECT_FALSE(binding.can_move() || binding.is_bound());
  binding.begin_attach({}, TimePoint());
  EXPECT_TRUE(binding.can_move() && !binding.is_bound());
  binding.bind();
  EXPECT_TRUE(binding.can_move() && binding.is_bound());
  binding.begin_detach(TimePoint());
  EXPECT_TRUE(binding.can_move() && binding.is_bound());
  binding.pin();
  EXPECT_TRUE(!binding.can_move() && binding.is_bound());
  binding.end();
  EXPECT_TRUE(binding.is(State::kEnded) && !binding.is_bound());
}

TEST(ServerBindingDeathTest, ChangesToNoStateThatMayNotFollow) {
  ServerBinding fresh;
  EXPECT_DEATH(fresh.pin(), "from 0 to 4");
  EXPECT_DEATH(fresh.begin_detach(TimePoint()), "from 0 to 3");
  ServerBinding ended;
  ended.end();
  EXPECT_DEATH(ended.bind(), "from 5 to 2");
  EXPECT_DEATH(ended.end(), "from 5 to 5");
}

}  // namespace
}  // namespace hat
