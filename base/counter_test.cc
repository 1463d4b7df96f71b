// SPDX-License-Identifier: Apache-2.0
#include "base/counter.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(Counter, TakesBackWhatItAdded) {
  Counter counter;
  counter.add(3);
  counter.sub(2);
  EXPECT_EQ(counter.value(), 1u);
}

}  // namespace
}  // namespace hat
