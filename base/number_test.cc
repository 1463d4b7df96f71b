// SPDX-License-Identifier: Apache-2.0
// base/number_test.cc: tests which texts parse_number() accepts and which it rejects.
#include "base/number.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(ParseNumber, TakesTheWholeTextOrNothing) {
  EXPECT_EQ(parse_number<uint32_t>("0"), 0u);
  EXPECT_EQ(parse_number<uint32_t>("4294967295"), 4294967295u);
  EXPECT_EQ(parse_number<int64_t>("-7"), -7);
  EXPECT_EQ(parse_number<uint32_t>("0660", 8), 0660u);
  for (const char* text : {"", " 1", "1 ", "+1", "-1", "1.5", "0x1", "4294967296", "1KiB"}) {
    EXPECT_FALSE(parse_number<uint32_t>(text)) << "'" << text << "'";
  }
  EXPECT_FALSE(parse_number<uint32_t>("8", 8));
  EXPECT_EQ(parse_number<double>("0.5"), 0.5);
  EXPECT_FALSE(parse_number<double>("0.5s"));
}

}  // namespace
}  // namespace hat
