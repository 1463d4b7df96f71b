// SPDX-License-Identifier: Apache-2.0
#include "daemon/process/write_news.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace hat {
namespace {

using namespace std::chrono_literals;

class WriteNewsTest : public testing::Test {
 protected:
  WriteNews::Message at(std::chrono::milliseconds time, int error, const std::string& path = "a") {
    return news_.of(path, error, std::chrono::steady_clock::time_point(time));
  }

  WriteNews news_;
};

TEST_F(WriteNewsTest, ReportsAnErrorOnceAndItsEnd) {
  EXPECT_EQ(at(1s, 0), WriteNews::kNone);
  EXPECT_EQ(at(2s, ENOSPC), WriteNews::kFails);
  EXPECT_EQ(at(3s, ENOSPC), WriteNews::kNone);
  EXPECT_EQ(at(1h, ENOSPC), WriteNews::kNone);
  EXPECT_EQ(at(2h, 0), WriteNews::kWorksAgain);
  EXPECT_EQ(at(3h, 0), WriteNews::kNone);
  EXPECT_EQ(at(4h, ENOSPC), WriteNews::kFails);
}

TEST_F(WriteNewsTest, ReportsAFlappingFileSeldom) {
  EXPECT_EQ(at(1s, ENOSPC), WriteNews::kFails);
  EXPECT_EQ(at(2s, 0), WriteNews::kWorksAgain);
  EXPECT_EQ(at(3s, ENOSPC), WriteNews::kNone);
  EXPECT_EQ(at(4s, 0), WriteNews::kNone) << "its end was reported";
  EXPECT_EQ(at(5s, ENOSPC), WriteNews::kNone);
}

TEST_F(WriteNewsTest, ReportsAnErrorThatLastsAfterThePause) {
  EXPECT_EQ(at(1s, ENOSPC), WriteNews::kFails);
  EXPECT_EQ(at(2s, 0), WriteNews::kWorksAgain);
  EXPECT_EQ(at(3s, ENOSPC), WriteNews::kNone);
  EXPECT_EQ(at(11s, ENOSPC), WriteNews::kFails);
}

TEST_F(WriteNewsTest, ReportsAnotherReason) {
  EXPECT_EQ(at(1s, ENOSPC), WriteNews::kFails);
  EXPECT_EQ(at(2s, EIO), WriteNews::kNone) << "within the pause";
  EXPECT_EQ(at(11s, EIO), WriteNews::kFails);
}

TEST_F(WriteNewsTest, ReportsAnotherPathAtOnce) {
  EXPECT_EQ(at(1s, ENOENT, "a"), WriteNews::kFails);
  EXPECT_EQ(at(2s, ENOENT, "b"), WriteNews::kFails);
  EXPECT_EQ(at(3s, ENOENT, "b"), WriteNews::kNone);
}

}  // namespace
}  // namespace hat
