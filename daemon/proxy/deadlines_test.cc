// SPDX-License-Identifier: Apache-2.0
#include "daemon/proxy/deadlines.h"

#include <gmock/gmock.h>

#include <set>

#include "tests/fake_reactor.h"

namespace hat {
namespace {

using namespace std::chrono_literals;

struct Named final : Deadline {
  Named(std::string its_name, std::vector<std::string>& to) : name(std::move(its_name)), log(to) {}
  void on_deadline() override {
    log.push_back(name);
    if (again != nullptr) again();
  }
  std::string name;
  std::vector<std::string>& log;
  std::function<void()> again;
};

class DeadlinesTest : public testing::Test {
 protected:
  FakeReactor reactor_;
  Deadlines deadlines_{reactor_};
  std::vector<std::string> log_;
  Named a_{"a", log_}, b_{"b", log_}, c_{"c", log_};
};

TEST_F(DeadlinesTest, ExpireInTheOrderOfTheirTimes) {
  deadlines_.set(a_, 300ms);
  deadlines_.set(b_, 100ms);
  deadlines_.set(c_, 200ms);
  reactor_.advance(150ms);
  EXPECT_THAT(log_, testing::ElementsAre("b"));
  reactor_.advance(1s);
  EXPECT_THAT(log_, testing::ElementsAre("b", "c", "a"));
}

TEST_F(DeadlinesTest, EndedOnesStaySilent) {
  deadlines_.set(a_, 100ms);
  deadlines_.set(b_, 100ms);
  a_.end();
  EXPECT_FALSE(a_.set());
  reactor_.advance(1s);
  EXPECT_THAT(log_, testing::ElementsAre("b"));
}

TEST_F(DeadlinesTest, SettingAgainReplaces) {
  deadlines_.set(a_, 100ms);
  reactor_.advance(90ms);
  deadlines_.set(a_, 100ms);
  reactor_.advance(90ms);
  EXPECT_THAT(log_, testing::IsEmpty());
  reactor_.advance(10ms);
  EXPECT_THAT(log_, testing::ElementsAre("a"));
}

TEST_F(DeadlinesTest, MayBeSetAgainWhenTheyExpire) {
  a_.again = [this] {
    if (log_.size() < 3) deadlines_.set(a_, 100ms);
  };
  deadlines_.set(a_, 100ms);
  reactor_.advance(1s);
  EXPECT_THAT(log_, testing::ElementsAre("a", "a", "a"));
}

TEST(Coarse, IsNeverShorterAndAtMostAQuarterLonger) {
  std::set<Duration> lengths;
  for (std::chrono::milliseconds timeout = 1ms; timeout <= 1h; ++timeout) {
    const Duration result = coarse(timeout);
    ASSERT_GE(result, timeout);
    ASSERT_LE(result, timeout + timeout / 4 + 1ms);
    lengths.insert(result);
  }
  EXPECT_EQ(lengths.size(), 83u);
}

TEST(Coarse, KeepsThreeSignificantBits) {
  EXPECT_EQ(coarse(1ms), 1ms);
  EXPECT_EQ(coarse(7ms), 7ms);
  EXPECT_EQ(coarse(9ms), 10ms);
  EXPECT_EQ(coarse(250ms), 256ms);
  EXPECT_EQ(coarse(1000ms), 1024ms);
  EXPECT_EQ(coarse(1025ms), 1280ms);
}

TEST_F(DeadlinesTest, EndWithTheirObject) {
  {
    Named gone("gone", log_);
    deadlines_.set(gone, 100ms);
  }
  reactor_.advance(1s);
  EXPECT_THAT(log_, testing::IsEmpty());
}

}  // namespace
}  // namespace hat
