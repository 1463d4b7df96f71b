// SPDX-License-Identifier: Apache-2.0
#include "daemon/discovery/discovery.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <thread>

#include "daemon/discovery/fake_resolver.h"

namespace hat {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

const Lookup kName{Lookup::Kind::kHost, "kv.example", 7471};

class DiscoveryTest : public testing::Test {
 protected:
  DiscoveryTest() { discovery_.watch({kName}); }
  // Lets time pass. Returns the number of lookups that wait for an answer.
  size_t after(seconds time) {
    now_ += time;
    discovery_.refresh(now_);
    return resolver_.asked.size();
  }
  std::vector<std::string> known() const {
    std::vector<std::string> all;
    for (const Address& one : discovery_.find(kName).addresses) all.push_back(to_string(one));
    return all;
  }

  std::unique_ptr<FakeResolver> made_ = std::make_unique<FakeResolver>();
  FakeResolver& resolver_ = *made_;
  Discovery discovery_{std::move(made_)};
  TimePoint now_{seconds(1000)};
};

TEST_F(DiscoveryTest, LooksANameUpAtOnceAndAgainWhenItsAnswerIsOld) {
  EXPECT_EQ(after(seconds(0)), 1u);
  EXPECT_EQ(after(seconds(9)), 1u) << "one lookup of a name at a time";
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(20));
  EXPECT_THAT(known(), ElementsAre("tcp:10.0.0.1:7471"));
  EXPECT_EQ(after(seconds(19)), 0u);
  EXPECT_EQ(after(seconds(1)), 1u);
}

TEST_F(DiscoveryTest, ReportsEachChangeOnce) {
  after(seconds(0));
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(1));
  EXPECT_TRUE(discovery_.take_change());
  EXPECT_FALSE(discovery_.take_change());
  after(seconds(1));
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(1));
  EXPECT_FALSE(discovery_.take_change()) << "the same addresses";
  after(seconds(1));
  resolver_.answer({"tcp:10.0.0.1:7471", "tcp:[fd00::2]:7471"}, seconds(1));
  EXPECT_TRUE(discovery_.take_change());
}

TEST_F(DiscoveryTest, KeepsTheLastGoodAnswerAndTriesAgainAfterPausesThatDouble) {
  after(seconds(0));
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(1));
  discovery_.take_change();
  for (const int pause : {1, 1, 2, 4, 8, 16, 30, 30}) {
    SCOPED_TRACE(pause);
    EXPECT_EQ(after(seconds(pause - 1)), 0u);
    ASSERT_EQ(after(seconds(1)), 1u);
    resolver_.fail_one();
    EXPECT_THAT(known(), ElementsAre("tcp:10.0.0.1:7471"));
    EXPECT_EQ(discovery_.find(kName).error, "no server answers");
  }
  EXPECT_FALSE(discovery_.take_change());
  ASSERT_EQ(after(seconds(30)), 1u);
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(60));
  EXPECT_EQ(discovery_.find(kName).error, "");
}

TEST_F(DiscoveryTest, UsesAnAnswerForAtLeastASecondAndAtMostFiveMinutes) {
  after(seconds(0));
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(0));
  EXPECT_EQ(after(seconds(0)), 0u);
  ASSERT_EQ(after(seconds(1)), 1u);
  resolver_.answer({"tcp:10.0.0.1:7471"}, std::chrono::hours(24));
  EXPECT_EQ(after(seconds(299)), 0u);
  EXPECT_EQ(after(seconds(1)), 1u);
}

TEST_F(DiscoveryTest, WaitsForTheFirstAnswersButNotForLater) {
  int waits = 0;
  resolver_.on_wait = [&](auto) {
    ++waits;
    resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(60));
  };
  discovery_.wait_for_first_answers(std::chrono::hours(1));
  EXPECT_EQ(waits, 1);
  EXPECT_THAT(known(), ElementsAre("tcp:10.0.0.1:7471"));
  discovery_.wait_for_first_answers(std::chrono::hours(1));
  EXPECT_EQ(waits, 1) << "a name with an answer";
}

TEST_F(DiscoveryTest, WaitsForAFirstAnswerForALimitedTime) {
  std::chrono::milliseconds most{};
  resolver_.on_wait = [&](std::chrono::milliseconds longest) {
    most = std::max(most, longest);
    std::this_thread::sleep_for(longest);
  };
  discovery_.wait_for_first_answers(std::chrono::milliseconds(20));
  EXPECT_EQ(most, std::chrono::milliseconds(20));
  EXPECT_THAT(known(), IsEmpty());
}

TEST_F(DiscoveryTest, ForgetsNamesThatAreNoLongerWatched) {
  after(seconds(0));
  discovery_.watch({});
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(1));
  EXPECT_FALSE(discovery_.take_change());
  discovery_.watch({kName});
  EXPECT_THAT(known(), IsEmpty());
  EXPECT_EQ(after(seconds(0)), 1u);
}

TEST_F(DiscoveryTest, AnAnswerThatWasAskedForBeforeANameWasForgottenDoesNotCount) {
  after(seconds(0));
  discovery_.watch({});
  discovery_.watch({kName});
  EXPECT_EQ(after(seconds(0)), 2u);
  resolver_.answer({"tcp:10.0.0.1:7471"}, seconds(1));
  EXPECT_THAT(known(), IsEmpty());
  resolver_.answer({"tcp:10.0.0.2:7471"}, seconds(1));
  EXPECT_THAT(known(), ElementsAre("tcp:10.0.0.2:7471"));
}

TEST_F(DiscoveryTest, BoundsTheAddressesOfAName) {
  after(seconds(0));
  std::vector<std::string> many;
  for (int i = 0; i < 300; ++i) {
    many.push_back("tcp:10.0." + std::to_string(i / 200) + "." + std::to_string(i % 200) + ":1");
  }
  resolver_.answer(many, seconds(1));
  EXPECT_EQ(known().size(), Discovery::kAddressesMax);
}

}  // namespace
}  // namespace hat
