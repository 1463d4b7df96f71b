// SPDX-License-Identifier: Apache-2.0
#include "base/quantities.h"

#include <gtest/gtest.h>

namespace hat {
namespace {

TEST(Quantities, HaveThreeDigitsAndAUnit) {
  EXPECT_EQ(count_text(0), "0");
  EXPECT_EQ(count_text(0.254), "0.25");
  EXPECT_EQ(count_text(87.54), "87.5");
  EXPECT_EQ(count_text(9999), "9999");
  EXPECT_EQ(count_text(184321), "184k");
  EXPECT_EQ(count_text(999999), "1M");
  EXPECT_EQ(size_text(0), "0 B");
  EXPECT_EQ(size_text((1 << 20) - 1), "1 MiB");
  EXPECT_EQ(size_text(1536), "1.5 KiB");
  EXPECT_EQ(size_text(16 << 20), "16 MiB");
  EXPECT_EQ(size_text(3ull << 40), "3 TiB");
  EXPECT_EQ(time_text(86.4), "86.4 µs");
  EXPECT_EQ(time_text(999.8), "1 ms");
  EXPECT_EQ(time_text(8388608), "8.39 s");
  EXPECT_EQ(time_text(5e9), "5000 s");
  EXPECT_EQ(nanoseconds_text(412), "412 ns");
  EXPECT_EQ(nanoseconds_text(8600), "8.6 µs");
  EXPECT_EQ(age_text(59.9), "59 s");
  EXPECT_EQ(age_text(192), "3 min 12 s");
  EXPECT_EQ(age_text(3600), "1 h");
  EXPECT_EQ(age_text(26 * 3600), "1 d 2 h");
  EXPECT_EQ(age_text(-3), "0 s");
}

TEST(Quantities, HaveAllDigitsInAFile) {
  EXPECT_EQ(exact_size_text(0), "0B");
  EXPECT_EQ(exact_size_text(512), "512B");
  EXPECT_EQ(exact_size_text(4096), "4KiB");
  EXPECT_EQ(exact_size_text(5000), "5000B");
  EXPECT_EQ(exact_size_text(1 << 20), "1MiB");
  EXPECT_EQ(exact_size_text(3ull << 40), "3072GiB");
}

}  // namespace
}  // namespace hat
