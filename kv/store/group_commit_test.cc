// SPDX-License-Identifier: Apache-2.0
// kv/store/group_commit_test.cc: tests which writes share a commit, and which wait for more writes.
#include "kv/store/group_commit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <latch>
#include <thread>
#include <vector>

namespace hat {
namespace {

using std::chrono::hours;
using testing::ElementsAre;

class GroupCommitTest : public testing::Test {
 protected:
  // Starts a write in a new thread. The thread is joined at the end of the test.
  void begin(std::chrono::microseconds patience = {}, const std::string& value = "v") {
    threads_.emplace_back([this, patience, value] {
      const Change change{Change::Kind::kPut, "k", value};
      Write write{.changes = {&change, 1}, .patience = patience};
      commits_.run(write);
      EXPECT_TRUE(write.result);
    });
  }
  // Waits until `count` writes are in the queue.
  void wait_for(size_t count) {
    while (commits_.waiting() != count) std::this_thread::yield();
  }
  // Starts a write, and returns when its commit has begun. The commit waits until release().
  void begin_and_hold() {
    hold_ = true;
    begin();
    began_.wait(false);
  }
  void release() {
    hold_ = false;
    hold_.notify_all();
  }

  std::vector<size_t> groups_;  // size of each group, in the order of the commits
  std::atomic<bool> hold_{false};
  std::atomic<bool> began_{false};
  GroupCommit commits_{[this](std::span<Write* const> group) {
    groups_.push_back(group.size());
    began_ = true;
    began_.notify_all();
    hold_.wait(true);
    for (Write* write : group) write->result = {};
  }};
  std::vector<std::jthread> threads_;
};

TEST_F(GroupCommitTest, WritesThatWaitShareACommit) {
  begin_and_hold();
  for (int i = 0; i < 3; ++i) begin();
  wait_for(4);
  release();
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 3));
}

TEST_F(GroupCommitTest, ALoneWriterDoesNotWaitHoweverPatient) {
  begin(hours(24));
  threads_.clear();
  begin(hours(24));
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 1));
}

TEST_F(GroupCommitTest, PatientWritesWaitForAsManyAsWereSeenLastTime) {
  begin_and_hold();
  for (int i = 0; i < 2; ++i) begin();
  wait_for(3);
  release();
  threads_.clear();
  ASSERT_THAT(groups_, ElementsAre(1, 2));
  begin(hours(24));
  wait_for(1);
  begin(hours(24));
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 2, 2));
}

TEST_F(GroupCommitTest, AnImpatientWriteEndsTheWaitOfAll) {
  begin_and_hold();
  for (int i = 0; i < 9; ++i) begin();
  wait_for(10);
  release();
  threads_.clear();
  begin(hours(24));
  wait_for(1);
  begin();
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 9, 2));
}

TEST_F(GroupCommitTest, PatienceEnds) {
  begin_and_hold();
  for (int i = 0; i < 9; ++i) begin();
  wait_for(10);
  release();
  threads_.clear();
  begin(std::chrono::milliseconds(1));
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 9, 1));
}

TEST_F(GroupCommitTest, AGroupEndsBeforeItsBytesAreTooMany) {
  begin_and_hold();
  for (int i = 0; i < 4; ++i) begin({}, std::string(1'900'000, 'v'));
  wait_for(5);
  release();
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 2, 2));
}

TEST_F(GroupCommitTest, AWriteLargerThanAGroupGoesAlone) {
  begin_and_hold();
  begin({}, std::string(9'000'000, 'v'));
  wait_for(2);
  begin();
  wait_for(3);
  release();
  threads_.clear();
  EXPECT_THAT(groups_, ElementsAre(1, 1, 1));
}

}  // namespace
}  // namespace hat
