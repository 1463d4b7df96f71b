// SPDX-License-Identifier: Apache-2.0
#include "base/transitions.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

enum class Door { kOpen, kClosed, kLocked };
constexpr Transition<Door> kTransitions[] = {
    {Door::kOpen, Door::kClosed}, {Door::kClosed, Door::kOpen}, {Door::kClosed, Door::kLocked}};

TEST(Transitions, AreThoseOfTheTable) {
  EXPECT_TRUE(is_listed(kTransitions, Door::kClosed, Door::kLocked));
  EXPECT_FALSE(is_listed(kTransitions, Door::kOpen, Door::kLocked));
  EXPECT_FALSE(is_listed(kTransitions, Door::kLocked, Door::kClosed)) << "it has a direction";
  EXPECT_FALSE(is_listed(kTransitions, Door::kOpen, Door::kOpen)) << "no state follows itself";
}

}  // namespace
}  // namespace hat
